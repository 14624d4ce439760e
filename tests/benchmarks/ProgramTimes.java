import java.io.BufferedReader;
import java.io.DataInputStream;
import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.io.BinaryDecoder;
import org.apache.avro.io.DecoderFactory;

/**
 * Measures how long Avro's GenericDatumReader takes to read messages, once for each line of its input.
 *
 * <p>The argument is a file: the reader's text, the number of writers and their texts, then the messages, each as the
  * number of its writer, its length and its bytes; all numbers have four bytes, and so have the lengths before texts. The
  * response to a line: nanoseconds of this thread's processor time, and the number of messages that could not be read.
 */
public final class ProgramTimes {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    private ProgramTimes() {}

    public static void main(String[] arguments) throws IOException {
        List<GenericDatumReader<Object>> readers = new ArrayList<>();
        List<byte[]> messages = new ArrayList<>();
        List<Integer> writers = new ArrayList<>();
        try (DataInputStream in = new DataInputStream(new FileInputStream(new File(arguments[0])))) {
            Schema reader = schema(in);
            for (int left = in.readInt(); left > 0; left--) {
                readers.add(new GenericDatumReader<>(schema(in), reader));
            }
            while (in.available() > 0) {
                writers.add(in.readInt());
                messages.add(content(in));
            }
        }
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        while (commands.readLine() != null) {
            long start = THREADS.getCurrentThreadCpuTime();
            int bad = 0;
            BinaryDecoder decoder = null;
            for (int i = 0; i < messages.size(); i++) {
                decoder = DecoderFactory.get().binaryDecoder(messages.get(i), decoder);
                try {
                    readers.get(writers.get(i)).read(null, decoder);
                } catch (Exception e) {
                    bad++;
                }
            }
            System.out.println((THREADS.getCurrentThreadCpuTime() - start) + " " + bad);
        }
    }

    private static Schema schema(DataInputStream in) throws IOException {
        return new Schema.Parser().parse(new String(content(in), StandardCharsets.UTF_8));
    }

    private static byte[] content(DataInputStream in) throws IOException {
        byte[] content = new byte[in.readInt()];
        in.readFully(content);
        return content;
    }
}
