package org.fulgurite.geaflow.guide;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.StringReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Properties;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import javax.tools.ToolProvider;
import org.apache.geaflow.store.api.key.IKVStatefulStore;
import org.fulgurite.geaflow.WithJob;
import org.junit.jupiter.api.Test;

/** The programs of the guide compile as they are printed there, and its configurations are accepted. */
class GuideTest extends WithJob {
    private static final String BEGINNING = "import org.apache.geaflow.common.config.Configuration;\n"
            + "import org.apache.geaflow.state.DataModel;\n"
            + "import org.apache.geaflow.state.descriptor.*;\n"
            + "import org.apache.geaflow.state.serializer.*;\n"
            + "import org.apache.geaflow.store.context.StoreContext;\n"
            + "import org.fulgurite.geaflow.RocksdbMigration;\n"
            + "class Guide {\n";

    /** The blocks of a language. Those in lists are indented. */
    private static List<String> blocks(String language) throws IOException {
        Path page = Paths.get(System.getProperty("fulgurite.guide"));
        String guide = new String(Files.readAllBytes(page), StandardCharsets.UTF_8);
        Matcher matcher = Pattern.compile("^ *```" + language + "\n(.*?)^ *```$", Pattern.DOTALL | Pattern.MULTILINE)
                .matcher(guide);
        List<String> blocks = new ArrayList<>();
        while (matcher.find()) {
            blocks.add(matcher.group(1));
        }
        return blocks;
    }

    @Test
    void theProgramsOfTheGuideCompile() throws IOException {
        List<String> blocks = blocks("java");
        assertEquals(2, blocks.size());
        StringBuilder program = new StringBuilder(BEGINNING);
        for (int number = 0; number < blocks.size(); number++) {
            program.append("static void block").append(number)
                    .append("(Configuration configuration, Configuration newConfiguration, int shard) {\n")
                    .append(blocks.get(number))
                    .append("}\n");
        }
        Path source = directory.resolve("Guide.java");
        Files.write(source, program.append("}\n").toString().getBytes(StandardCharsets.UTF_8));
        int compiled = ToolProvider.getSystemJavaCompiler()
                .run(
                        null, null, null, "-proc:none", "-classpath", System.getProperty("java.class.path"), "-d",
                        directory.toString(), source.toString());
        assertEquals(0, compiled);
    }

    @Test
    void theConfigurationsOfTheGuideAreAcceptedWithoutAWarning() throws IOException {
        List<String> blocks = blocks("properties");
        // One for each case of "Tuning".
        assertEquals(5, blocks.size());
        for (String block : blocks) {
            Properties properties = new Properties();
            properties.load(new StringReader(block));
            TreeMap<String, String> before = new TreeMap<>(configuration);
            properties.forEach((key, value) -> configuration.put((String) key, (String) value));
            List<String> warnings = logged(() -> {
                        IKVStatefulStore<String, String> store = values();
                        store.put("a", "value");
                        store.archive(1);
                        assertEquals("value", store.get("a"));
                        store.drop();
                    })
                    .stream()
                    .filter(event -> event.startsWith("WARN") || event.startsWith("ERROR"))
                    // Threads in the background may log what is of other tests. Keys are named first.
                    .filter(event -> event.contains(directory.toString()) || event.contains(" geaflow.store."))
                    .collect(Collectors.toList());
            assertEquals(Collections.emptyList(), warnings, block);
            assertTrue(configuration.size() > before.size(), block);
            configuration.clear();
            configuration.putAll(before);
        }
    }
}
