package fulgurite.bench;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import org.eclipse.rdf4j.model.Statement;
import org.eclipse.rdf4j.model.Value;
import org.eclipse.rdf4j.query.BindingSet;
import org.eclipse.rdf4j.rio.helpers.NTriplesUtil;

/** The hashes of benchmarks/bench/src/suites/quads/answer.rs. */
final class Hash {
    private Hash() {}

    static long ofStatement(Statement statement) {
        String line = NTriplesUtil.toNTriplesString(statement.getSubject()) + " "
                + NTriplesUtil.toNTriplesString(statement.getPredicate()) + " "
                + NTriplesUtil.toNTriplesString(statement.getObject()) + " .";
        return ofText(line);
    }

    static long ofRow(List<String> names, BindingSet row) {
        StringBuilder line = new StringBuilder();
        for (String name : names) {
            Value value = row.getValue(name);
            line.append(value == null ? "" : NTriplesUtil.toNTriplesString(value)).append('\t');
        }
        return ofText(line.toString());
    }

    static long ofSorted(List<Long> hashes) {
        long[] sorted = hashes.stream().mapToLong(hash -> hash ^ Long.MIN_VALUE).toArray();
        Arrays.sort(sorted);
        long all = 0;
        for (long hash : sorted) {
            all = mix(all ^ hash ^ Long.MIN_VALUE);
        }
        return all;
    }

    private static long ofText(String text) {
        long hash = 0xcbf29ce484222325L;
        for (byte one : text.getBytes(StandardCharsets.UTF_8)) {
            hash = (hash ^ (one & 0xff)) * 0x100000001b3L;
        }
        return mix(hash);
    }

    private static long mix(long number) {
        long mixed = number + 0x9e3779b97f4a7c15L;
        mixed = (mixed ^ (mixed >>> 30)) * 0xbf58476d1ce4e5b9L;
        mixed = (mixed ^ (mixed >>> 27)) * 0x94d049bb133111ebL;
        return mixed ^ (mixed >>> 31);
    }
}
