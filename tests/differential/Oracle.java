import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.lang.reflect.Constructor;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.avro.Schema;
import org.apache.avro.SchemaParseException;
import org.apache.avro.SchemaValidationException;
import org.apache.avro.SchemaValidator;
import org.apache.avro.SchemaValidatorBuilder;

/**
 * The verdicts of Avro's own library on schema texts: one JSON request per line in, one JSON answer per line out.
 *
 * <p>Requests: {"op":"parse","text":T,"validate":B}, {"op":"equals","a":T,"b":T}, {"op":"canRead","reader":T,"writer":T}.
 * Answers: {"verdict":true|false} or {"verdict":"error:SimpleClassName"}, with "detail" after an exception.
 * {"op":"pair","a":T,"b":T} is all of that at once, both ways; its answer has such a verdict under each of the names
 * parse, validate, parseOther, validateOther, equals, reads, isRead, mutual. {"op":"history","texts":[T]}, oldest first,
 * answers with "reads", where row r and column w are true if text r reads text w, and "follows", which has by
 * strategy for each text true if it may follow all before it (validateAll for the transitive ones, else validateLatest).
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
        JSON.getFactory().setStreamReadConstraints(
                StreamReadConstraints.builder().maxStringLength(Integer.MAX_VALUE).build());
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        BufferedWriter out = new BufferedWriter(new OutputStreamWriter(System.out, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.write(JSON.writeValueAsString(whole(JSON.readTree(line))));
            out.newLine();
            if (!in.ready()) {
                out.flush();
            }
        }
        out.flush();
    }

    private static ObjectNode whole(JsonNode request) {
        switch (request.get("op").asText()) {
            case "pair":
                return pair(request.get("a").textValue(), request.get("b").textValue());
            case "history":
                return history(request.get("texts"));
            default:
                return answer(request);
        }
    }

    private static ObjectNode pair(String a, String b) {
        ObjectNode all = JSON.createObjectNode();
        all.set("parse", answer(request("parse").put("text", a).put("validate", false)).get("verdict"));
        all.set("validate", answer(request("parse").put("text", a).put("validate", true)).get("verdict"));
        all.set("parseOther", answer(request("parse").put("text", b).put("validate", false)).get("verdict"));
        all.set("validateOther", answer(request("parse").put("text", b).put("validate", true)).get("verdict"));
        all.set("equals", answer(request("equals").put("a", a).put("b", b)).get("verdict"));
        all.set("reads", answer(request("canRead").put("reader", a).put("writer", b)).get("verdict"));
        all.set("isRead", answer(request("canRead").put("reader", b).put("writer", a)).get("verdict"));
        all.set("mutual", answer(request("mutual").put("reader", a).put("writer", b)).get("verdict"));
        return all;
    }

    private static ObjectNode request(String operation) {
        return JSON.createObjectNode().put("op", operation);
    }

    private static ObjectNode history(JsonNode texts) {
        List<Schema> schemas = new ArrayList<>();
        texts.forEach(text -> schemas.add(parse(text.textValue(), false)));
        ObjectNode answer = JSON.createObjectNode();
        ArrayNode rows = answer.putArray("reads");
        for (Schema reader : schemas) {
            ArrayNode row = rows.addArray();
            schemas.forEach(writer -> row.add(accepts(canRead().validateLatest(), reader, List.of(writer))));
        }
        ObjectNode follows = answer.putObject("follows");
        follow(follows.putArray("BACKWARD"), schemas, canRead().validateLatest());
        follow(follows.putArray("FORWARD"), schemas, canBeRead().validateLatest());
        follow(follows.putArray("FULL"), schemas, mutual().validateLatest());
        follow(follows.putArray("BACKWARD_TRANSITIVE"), schemas, canRead().validateAll());
        follow(follows.putArray("FORWARD_TRANSITIVE"), schemas, canBeRead().validateAll());
        follow(follows.putArray("FULL_TRANSITIVE"), schemas, mutual().validateAll());
        return answer;
    }

    private static void follow(ArrayNode row, List<Schema> schemas, SchemaValidator validator) {
        for (int number = 0; number < schemas.size(); number++) {
            List<Schema> before = new ArrayList<>(schemas.subList(0, number));
            Collections.reverse(before); // the newest first, as Pulsar hands them over
            row.add(accepts(validator, schemas.get(number), before));
        }
    }

    private static boolean accepts(SchemaValidator validator, Schema schema, List<Schema> before) {
        try {
            validator.validate(schema, before);
            return true;
        } catch (SchemaValidationException e) {
            return false;
        }
    }

    private static SchemaValidatorBuilder canRead() {
        return new SchemaValidatorBuilder().canReadStrategy();
    }

    private static SchemaValidatorBuilder canBeRead() {
        return new SchemaValidatorBuilder().canBeReadStrategy();
    }

    private static SchemaValidatorBuilder mutual() {
        return new SchemaValidatorBuilder().mutualReadStrategy();
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
            case "mutual":
                Schema reader = parse(request.get("reader").textValue(), false);
                Schema writer = parse(request.get("writer").textValue(), false);
                SchemaValidatorBuilder builder = operation.equals("mutual") ? mutual() : canRead();
                builder.validateLatest().validate(reader, List.of(writer));
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
