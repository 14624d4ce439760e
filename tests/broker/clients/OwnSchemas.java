// The schemas of Pulsar's Java client itself: one line of input per request, in JSON. The response to {"own": the name
// of one of its schemas} is what it sends: {"type", "schema": base64, "properties"}. With a "topic", too, a producer sends
// a value there that a consumer then has to receive, both with that schema; the response is {"error": its name or null,
// "same": true if the values are equal}. Argument: the service URL.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.protobuf.Timestamp;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.sql.Time;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.util.Date;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.PulsarClient;
import org.apache.pulsar.client.api.PulsarClientException;
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.client.api.SubscriptionInitialPosition;
import org.apache.pulsar.common.schema.KeyValue;
import org.apache.pulsar.common.schema.KeyValueEncodingType;
import org.apache.pulsar.common.schema.SchemaInfo;

public class OwnSchemas {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] arguments) throws Exception {
        Map<String, Own<?>> all = all();
        try (PulsarClient client = PulsarClient.builder().serviceUrl(arguments[0]).build();
                BufferedReader requests = new BufferedReader(new InputStreamReader(System.in))) {
            for (String line = requests.readLine(); line != null; line = requests.readLine()) {
                JsonNode request = JSON.readTree(line);
                Own<?> own = all.get(request.get("own").asText());
                Object response = request.has("topic") ? own.exchange(client, request.get("topic").asText()) : own.sent();
                System.out.println(JSON.writeValueAsString(response));
            }
        }
    }

    private static Map<String, Own<?>> all() {
        Map<String, Own<?>> all = new HashMap<>();
        all.put("STRING", new Own<>(Schema.STRING, "héllo"));
        all.put("BOOLEAN", new Own<>(Schema.BOOL, true));
        all.put("INT8", new Own<>(Schema.INT8, (byte) -1));
        all.put("INT16", new Own<>(Schema.INT16, (short) -2));
        all.put("INT32", new Own<>(Schema.INT32, -3));
        all.put("INT64", new Own<>(Schema.INT64, -4L));
        all.put("FLOAT", new Own<>(Schema.FLOAT, 0.5f));
        all.put("DOUBLE", new Own<>(Schema.DOUBLE, 0.25));
        all.put("DATE", new Own<>(Schema.DATE, new Date(5000)));
        all.put("TIME", new Own<>(Schema.TIME, new Time(6000)));
        all.put("TIMESTAMP", new Own<>(Schema.TIMESTAMP, new java.sql.Timestamp(7000)));
        all.put("INSTANT", new Own<>(Schema.INSTANT, Instant.ofEpochSecond(8, 9)));
        all.put("LOCAL_DATE", new Own<>(Schema.LOCAL_DATE, LocalDate.of(2026, 1, 2)));
        all.put("LOCAL_TIME", new Own<>(Schema.LOCAL_TIME, LocalTime.of(3, 4, 5)));
        all.put("LOCAL_DATE_TIME", new Own<>(Schema.LOCAL_DATE_TIME, LocalDateTime.of(2026, 1, 2, 3, 4, 5)));
        all.put("AVRO", new Own<>(Schema.AVRO(Order.class), new Order("a", 1)));
        all.put("JSON", new Own<>(Schema.JSON(Order.class), new Order("b", 2)));
        all.put("PROTOBUF", new Own<>(Schema.PROTOBUF(Timestamp.class), Timestamp.newBuilder().setSeconds(3).build()));
        all.put("PROTOBUF_NATIVE", new Own<>(Schema.PROTOBUF_NATIVE(Timestamp.class), Timestamp.newBuilder().setNanos(4).build()));
        for (KeyValueEncodingType encoding : KeyValueEncodingType.values()) {
            Schema<KeyValue<String, Order>> schema = Schema.KeyValue(Schema.STRING, Schema.AVRO(Order.class), encoding);
            all.put("KEY_VALUE " + encoding, new Own<>(schema, new KeyValue<>("key", new Order("c", 5))));
        }
        return all;
    }

    /** One of the client's schemas, with a value to send. */
    private record Own<T>(Schema<T> schema, T value) {
        Map<String, Object> sent() {
            SchemaInfo info = schema.getSchemaInfo();
            Map<String, Object> description = new LinkedHashMap<>();
            description.put("type", info.getType().name());
            description.put("schema", info.getSchema());
            description.put("properties", info.getProperties());
            return description;
        }

        Map<String, Object> exchange(PulsarClient client, String topic) throws PulsarClientException {
            Map<String, Object> result = new HashMap<>();
            try (Producer<T> producer = client.newProducer(schema.clone()).topic(topic).create();
                    Consumer<T> consumer = client.newConsumer(schema.clone()).topic(topic).subscriptionName("own")
                            .subscriptionInitialPosition(SubscriptionInitialPosition.Earliest).subscribe()) {
                producer.send(value);
                Message<T> received = consumer.receive(30, TimeUnit.SECONDS);
                result.put("same", received != null && value.equals(received.getValue()));
                result.put("error", null);
            } catch (PulsarClientException.IncompatibleSchemaException error) {
                result.put("error", "IncompatibleSchema");
            }
            return result;
        }
    }

    /** The value on the topics of the types that have fields. */
    public static class Order {
        public String id;
        public int count;

        public Order() {}

        Order(String id, int count) {
            this.id = id;
            this.count = count;
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Order order && Objects.equals(order.id, id) && order.count == count;
        }

        @Override
        public int hashCode() {
            return Objects.hash(id, count);
        }
    }
}
