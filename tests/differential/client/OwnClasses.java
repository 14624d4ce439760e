import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import java.util.function.Function;
import org.apache.avro.reflect.AvroAlias;
import org.apache.avro.reflect.AvroDefault;
import org.apache.avro.reflect.AvroDoc;
import org.apache.avro.reflect.AvroIgnore;
import org.apache.avro.reflect.AvroName;
import org.apache.avro.reflect.AvroSchema;
import org.apache.avro.reflect.Nullable;
import org.apache.avro.reflect.Union;
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.client.api.schema.SchemaDefinition;
import org.apache.pulsar.common.schema.SchemaInfo;

/**
 * Classes as applications have them, and what Pulsar's Java client sends for each: a line with the class, the type, both
 * options, the schema in base64, and the properties.
 */
public class OwnClasses {
    public static class Empty {}
    public static class Numbers { public byte a; public short b; public int c; public long d; public float e; public double f; public boolean g; public char h; }
    public static class Boxed { public Integer a; public Long b; public Double c; public Boolean d; public Float e; }
    public static class Texts { public String a; public CharSequence b; public byte[] c; }
    public static class Lists { public List<String> a; public int[] b; public String[] c; public Set<Long> d; }
    public static class Maps { public Map<String, Integer> a; public Map<String, List<Boxed>> b; }
    public static class Nested { public Numbers a; public Texts b; public Numbers c; }
    public static class Recursive { public String name; public Recursive next; public List<Recursive> others; }
    public enum Color { RED, GREEN, BLUE }
    public static class Enums { public Color color; public List<Color> colors; }
    public static class Dates { public LocalDate a; public LocalTime b; public LocalDateTime c; public Instant d; }
    public static class Decimals { public BigDecimal a; public UUID b; }
    public static class Renamed { @AvroName("other_name") public String name; @AvroAlias(alias = "old") public int count; }
    public static class Defaults { @AvroDefault("\"x\"") public String a; @AvroDefault("7") public int b; }
    public static class Documented { @AvroDoc("what it is") public String a; }
    public static class Ignored { public String a; @AvroIgnore public String b; public transient String c; public static String d; }
    public static class Nullables { @Nullable public String a; @Nullable public Integer b; public String c; }
    public static class Written { @AvroSchema("{\"type\":\"long\",\"logicalType\":\"timestamp-millis\"}") public long at; }
    @Union({Texts.class, Boxed.class}) public interface Either {}
    public static class Unions { public Either either; }
    public static class Parent { public String inherited; private int hidden; }
    public static class Child extends Parent { public String own; }
    public static class Private { private String a; private int b; public String getA() { return a; } }
    public static class Generic<T> { public T value; public String name; }
    public record Point(int x, String label) {}

    static final Class<?>[] ALL = {
        Empty.class, Numbers.class, Boxed.class, Texts.class, Lists.class, Maps.class, Nested.class, Recursive.class,
        Enums.class, Dates.class, Decimals.class, Renamed.class, Defaults.class, Documented.class, Ignored.class,
        Nullables.class, Written.class, Unions.class, Child.class, Private.class, Point.class};

    public static void main(String[] arguments) {
        for (Class<?> each : ALL) {
            print(each, "AVRO", true, false, Schema::AVRO);
            print(each, "JSON", true, false, Schema::JSON);
            print(each, "AVRO", false, true, Schema::AVRO);
        }
    }

    private static <T> void print(Class<T> own, String type, boolean allowsNull, boolean jsr310, Function<SchemaDefinition<T>, Schema<T>> schema) {
        SchemaDefinition<T> definition = SchemaDefinition.<T>builder().withPojo(own).withAlwaysAllowNull(allowsNull).withJSR310ConversionEnabled(jsr310).build();
        SchemaInfo info = schema.apply(definition).getSchemaInfo();
        String text = Base64.getEncoder().encodeToString(info.getSchemaDefinition().getBytes(StandardCharsets.UTF_8));
        System.out.println(String.join(" ", own.getName(), type, "" + allowsNull, "" + jsr310, text, new TreeMap<>(info.getProperties()).toString()));
    }
}
