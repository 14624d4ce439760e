import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.lang.reflect.Constructor;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.apache.avro.Schema;
import org.apache.avro.SchemaParseException;
import org.apache.avro.SchemaValidationException;
import org.apache.avro.SchemaValidatorBuilder;

/**
 * Asks Avro's own library what it thinks of schema texts: one JSON request per line in, one JSON answer per line out.
 *
 * <p>Requests: {"op":"parse","text":T,"validate":B}, {"op":"equals","a":T,"b":T}, {"op":"canRead","reader":T,"writer":T}.
 * Answers: {"verdict":true|false} or {"verdict":"error:SimpleClassName"}, with "detail" where something was thrown.
 * canRead goes the way of Pulsar's AvroSchemaBasedCompatibilityCheck: fresh parsers, defaults not validated, the
 * validator of SchemaValidatorBuilder; a SchemaParseException means incompatible, any other exception is an error.
 *
 * <p>Where the class path has a broker with a validator of names (Pulsar 4.1.3 and newer), texts are parsed with that.
 */
public final class Oracle {
    private static final ObjectMapper JSON = new ObjectMapper();

    private static final Object NAMES = validatorOfNames();

    private Oracle() {}

    public static void main(String[] arguments) throws IOException {
        JSON.getFactory().configure(JsonGenerator.Feature.ESCAPE_NON_ASCII, true);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        BufferedWriter out = new BufferedWriter(new OutputStreamWriter(System.out, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.write(JSON.writeValueAsString(answer(JSON.readTree(line))));
            out.newLine();
            if (!in.ready()) {
                out.flush();
            }
        }
        out.flush();
    }

    private static ObjectNode answer(JsonNode request) {
        ObjectNode answer = JSON.createObjectNode();
        try {
            answer.put("verdict", verdict(request));
        } catch (SchemaValidationException e) {
            answer.put("verdict", false).put("detail", text(e));
        } catch (SchemaParseException e) {
            answer.put("verdict", false).put("detail", text(e));
        } catch (Exception | StackOverflowError e) {
            answer.put("verdict", "error:" + e.getClass().getSimpleName()).put("detail", text(e));
        }
        return answer;
    }

    private static boolean verdict(JsonNode request) throws SchemaValidationException {
        String operation = request.get("op").asText();
        switch (operation) {
            case "parse":
                parse(request.get("text").textValue(), request.get("validate").booleanValue());
                return true;
            case "equals":
                return parse(request.get("a").textValue(), false).equals(parse(request.get("b").textValue(), false));
            case "canRead":
                Schema reader = parse(request.get("reader").textValue(), false);
                Schema writer = parse(request.get("writer").textValue(), false);
                new SchemaValidatorBuilder().canReadStrategy().validateLatest().validate(reader, List.of(writer));
                return true;
            default:
                throw new IllegalArgumentException(operation);
        }
    }

    private static Schema parse(String text, boolean validateDefaults) {
        return parser().setValidateDefaults(validateDefaults).parse(text);
    }

    private static Schema.Parser parser() {
        if (NAMES == null) {
            return new Schema.Parser();
        }
        try { // by reflection, since Avro 1.11 has no such constructor
            Class<?> validator = Class.forName("org.apache.avro.NameValidator");
            return Schema.Parser.class.getConstructor(validator).newInstance(NAMES);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    private static Object validatorOfNames() {
        String struct = "org.apache.pulsar.broker.service.schema.validator.StructSchemaDataValidator";
        try {
            Constructor<?> made = Class.forName(struct + "$CompatibleNameValidator").getDeclaredConstructor();
            made.setAccessible(true);
            return made.newInstance();
        } catch (ClassNotFoundException e) {
            return null;
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    private static String text(Throwable thrown) {
        String message = String.valueOf(thrown.getMessage());
        return thrown.getClass().getSimpleName() + ": " + message.substring(0, Math.min(message.length(), 300));
    }
}
