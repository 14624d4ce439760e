import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.apache.avro.Schema;
import org.apache.avro.SchemaValidationException;
import org.apache.avro.SchemaValidator;
import org.apache.avro.SchemaValidatorBuilder;

/**
 * How long Avro's own library takes for what the broker asks of it, each time it is told to on a line of its input.
 *
 * <p>The argument is a JSON file: {"pairs": [[reader, writer]...], "history": [text...]}. Commands: "verdicts" (the
 * pairs, parsed beforehand), "pairs" (the pairs, parsed each time) and "history" (each text parsed, then asked whether
 * it reads all before it). The answer to each is a line: nanoseconds of this thread's processor time, which leaves out
 * what the compiler and the garbage collector take on theirs, and how many verdicts were yes.
 */
public final class AvroTimes {
    private static final SchemaValidator VALIDATOR = new SchemaValidatorBuilder().canReadStrategy().validateAll();
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    private AvroTimes() {}

    public static void main(String[] arguments) throws IOException {
        JsonNode work = new ObjectMapper().readTree(new File(arguments[0]));
        List<String[]> texts = new ArrayList<>();
        List<Schema[]> parsed = new ArrayList<>();
        for (JsonNode pair : work.get("pairs")) {
            String[] both = {pair.get(0).textValue(), pair.get(1).textValue()};
            texts.add(both);
            parsed.add(new Schema[] {parse(both[0]), parse(both[1])});
        }
        List<String> history = new ArrayList<>();
        work.get("history").forEach(text -> history.add(text.textValue()));
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String command = in.readLine(); command != null; command = in.readLine()) {
            long start = THREADS.getCurrentThreadCpuTime();
            int readable = 0;
            switch (command) {
                case "verdicts":
                    for (Schema[] pair : parsed) {
                        readable += reads(pair[0], List.of(pair[1]));
                    }
                    break;
                case "pairs":
                    for (String[] pair : texts) {
                        readable += reads(parse(pair[0]), List.of(parse(pair[1])));
                    }
                    break;
                case "history":
                    List<Schema> before = new ArrayList<>();
                    for (String text : history) {
                        Schema schema = parse(text);
                        readable += reads(schema, before);
                        before.add(schema);
                    }
                    break;
                default:
                    throw new IllegalArgumentException(command);
            }
            System.out.println((THREADS.getCurrentThreadCpuTime() - start) + " " + readable);
        }
    }

    private static Schema parse(String text) {
        return new Schema.Parser().setValidateDefaults(false).parse(text);
    }

    private static int reads(Schema reader, List<Schema> writers) {
        try {
            VALIDATOR.validate(reader, writers);
            return 1;
        } catch (SchemaValidationException e) {
            return 0;
        } catch (RuntimeException | StackOverflowError e) {
            return 0;
        }
    }
}
