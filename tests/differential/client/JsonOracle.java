import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.net.URI;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.util.Date;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.client.api.schema.SchemaDefinition;

/**
 * The JSON schema that Pulsar's Java client makes of a class: one JSON request per line in, one answer out.
 *
 * <p>{"op":"schema"} is answered with the "schema", {"op":"encode"} with a list "payloads" of what some values become, and
 * {"op":"decode","payload":base64} with "verdict" true or "error:SimpleClassName". With "box":true the class is Box.
 */
public final class JsonOracle {
    private static final ObjectMapper JSON = new ObjectMapper();

    private JsonOracle() {}

    /** A field for each type. */
    public static class Value {
        public int number;
        public long large;
        public double real;
        public float small;
        public boolean flag;
        public String text;
        public byte[] bytes;
        public Color color;
        public List<Integer> list;
        public Map<String, Integer> map;
        public LocalDate date;
        public LocalTime time;
        public LocalDateTime local;
        public Instant instant;
        public BigDecimal decimal;
        public BigInteger huge;
        public Date old;
    }

    /** A field for each of Java's own classes that a schema names. */
    public static class Box {
        public UUID uuid;
        public BigDecimal decimal;
        public BigInteger huge;
        public URI uri;
        public URL url;
        public Short small;
        public Byte tiny;
        public Character letter;
        public char[] letters;
        public LocalDate date;
        public LocalTime time;
        public LocalDateTime local;
        public Instant instant;
        public Date old;
        public Map<Long, Integer> map;
    }

    /** An enum. */
    public enum Color { RED, BLUE }

    public static void main(String[] arguments) throws IOException {
        Schema<Value> schema = Schema.JSON(SchemaDefinition.<Value>builder().withPojo(Value.class).build());
        Schema<Box> box = Schema.JSON(SchemaDefinition.<Box>builder().withPojo(Box.class).build());
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            System.out.println(JSON.writeValueAsString(answer(schema, box, JSON.readTree(line))));
        }
    }

    private static ObjectNode answer(Schema<Value> schema, Schema<Box> box, JsonNode request) {
        ObjectNode answer = JSON.createObjectNode();
        boolean isBox = request.path("box").booleanValue();
        Schema<?> chosen = isBox ? box : schema;
        try {
            switch (request.get("op").textValue()) {
                case "schema":
                    answer.put("schema", new String(chosen.getSchemaInfo().getSchema(), StandardCharsets.UTF_8));
                    break;
                case "encode":
                    if (isBox) {
                        answer.withArray("payloads").add(box.encode(filled()));
                        break;
                    }
                    for (Value each : List.of(new Value(), full(), early())) {
                        answer.withArray("payloads").add(schema.encode(each));
                    }
                    break;
                default:
                    chosen.decode(request.get("payload").binaryValue());
            }
            answer.put("verdict", true);
        } catch (Exception e) {
            answer.put("verdict", "error:" + e.getClass().getSimpleName()).put("detail", String.valueOf(e.getMessage()));
        }
        return answer;
    }

    private static Value full() {
        Value value = new Value();
        value.text = "t";
        value.bytes = new byte[] {1, 2};
        value.color = Color.BLUE;
        value.list = List.of(1, 2);
        value.map = Map.of("k", 1);
        value.date = LocalDate.of(2024, 2, 29);
        value.time = LocalTime.of(1, 2, 3, 4_005_000);
        value.local = LocalDateTime.of(2024, 1, 2, 3, 4, 5, 6);
        value.instant = Instant.ofEpochSecond(1_700_000_000, 123_000_000);
        value.decimal = new BigDecimal("1.50");
        value.huge = BigInteger.TWO.pow(80);
        value.old = new Date(5);
        return value;
    }

    private static Box filled() throws IOException {
        Box value = new Box();
        value.uuid = new UUID(1, 2);
        value.decimal = new BigDecimal("-1E+1000");
        value.huge = BigInteger.ONE.negate();
        value.uri = URI.create("urn:x:[ä]");
        value.url = new URL("http://x");
        value.small = Short.MIN_VALUE;
        value.tiny = Byte.MIN_VALUE;
        value.letter = '\uffff';
        value.letters = new char[] {'a', '\0'};
        value.date = LocalDate.MAX;
        value.time = LocalTime.MAX;
        value.local = LocalDateTime.MIN;
        value.instant = Instant.MAX;
        value.old = new Date(Long.MIN_VALUE);
        value.map = Map.of(1L, 1);
        return value;
    }

    private static Value early() {
        Value value = new Value();
        value.real = Double.NaN;
        value.small = Float.NEGATIVE_INFINITY;
        value.date = LocalDate.of(-5, 1, 1);
        value.time = LocalTime.MIDNIGHT;
        value.local = LocalDateTime.of(12_345, 1, 2, 3, 0);
        value.instant = Instant.MIN;
        return value;
    }
}
