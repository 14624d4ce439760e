import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.io.DecoderFactory;

/**
 * Reads many messages of one writer with one reader, as a consumer with a class does: one JSON request per line in, one
 * answer out.
 *
 * <p>A request is {"reader": text, "writer": text, "payloads": [base64]}; the answer {"verdict": true, "read": R}, where R
 * has a character for each payload: y if GenericDatumReader read it, n if it threw, e if it had no end: it skips
 * a block by the size that the block claims, and one below zero leads back to where it has been. A length beyond 16 MB is
 * refused (no payload here has as many bytes), so that no broken one fills the memory.
 */
public final class ReadingOracle {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final long TIMEOUT_SECONDS = 20;
    private static ExecutorService reading = another();

    private ReadingOracle() {}

    public static void main(String[] arguments) throws IOException {
        for (String limited : new String[] {"bytes", "string", "collectionItems"}) {
            System.setProperty("org.apache.avro.limits." + limited + ".maxLength", "16000000");
        }
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        BufferedWriter out = new BufferedWriter(new OutputStreamWriter(System.out, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.write(JSON.writeValueAsString(answer(JSON.readTree(line))));
            out.newLine();
        }
        out.flush();
        System.exit(0); // whatever is still being read
    }

    private static ObjectNode answer(JsonNode request) throws IOException {
        Schema reader = new Schema.Parser().parse(request.get("reader").textValue());
        Schema writer = new Schema.Parser().parse(request.get("writer").textValue());
        StringBuilder read = new StringBuilder();
        for (JsonNode payload : request.get("payloads")) {
            byte[] content = payload.binaryValue();
            read.append(inTime(() -> isRead(writer, reader, content)));
        }
        return JSON.createObjectNode().put("verdict", true).put("read", read.toString());
    }

    private static char inTime(Callable<Boolean> task) throws IOException {
        try {
            return reading.submit(task).get(TIMEOUT_SECONDS, TimeUnit.SECONDS) ? 'y' : 'n';
        } catch (TimeoutException e) {
            reading = another();
            return 'e';
        } catch (InterruptedException | ExecutionException e) {
            throw new IOException(e);
        }
    }

    private static ExecutorService another() {
        return Executors.newSingleThreadExecutor(
                task -> {
                    Thread thread = new Thread(task, "reading");
                    thread.setDaemon(true);
                    return thread;
                });
    }

    private static boolean isRead(Schema writer, Schema reader, byte[] payload) {
        try {
            new GenericDatumReader<>(writer, reader).read(null, DecoderFactory.get().binaryDecoder(payload, null));
            return true;
        } catch (Exception | OutOfMemoryError | StackOverflowError e) {
            return false;
        }
    }
}
