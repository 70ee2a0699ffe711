package fulgurite.queue;

import java.nio.file.Path;

/** Measures Chronicle Queue for the suite {@code storagebench}, which starts this program and reads what it prints. */
public final class Main {
    private static final String USAGE =
            "usage: append DIRECTORY EVENTS EVENTS_PER_LAP PAYLOAD_BYTES\n"
                    + "       follow DIRECTORY EVENTS EVENTS_PER_SECOND PAYLOAD_BYTES here|process\n"
                    + "       tail DIRECTORY EVENTS";

    private Main() {}

    public static void main(String[] arguments) throws Exception {
        String verb = arguments.length == 0 ? "" : arguments[0];
        if (verb.equals("append") && arguments.length == 5) {
            Path directory = Path.of(arguments[1]);
            Append.measure(directory, number(arguments[2]), number(arguments[3]), number(arguments[4]));
        } else if (verb.equals("follow") && arguments.length == 6) {
            Follow follow = new Follow(Path.of(arguments[1]), number(arguments[2]), number(arguments[3]));
            follow.measure(number(arguments[4]), arguments[5].equals("process"));
        } else if (verb.equals("tail") && arguments.length == 3) {
            Tail.print(Path.of(arguments[1]), number(arguments[2]));
        } else {
            System.err.println(USAGE);
            System.exit(2);
        }
    }

    private static int number(String text) {
        return Integer.parseInt(text);
    }
}
