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
 * How long Avro's GenericDatumReader takes to read messages, each time that a line of its input says so.
 *
 * <p>The argument is a file: the reader's text, how many writers there are and their texts, then the messages, each as the
 * number of its writer, its length and its bytes; all numbers have four bytes, and so have the lengths before texts. The answer
 * to a line: nanoseconds of this thread's processor time, and how many messages could not be read.
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
