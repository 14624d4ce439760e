import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.rocksdb.ColumnFamilyDescriptor;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.DBOptions;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksIterator;

/**
 * Takes a killed standalone broker's bookie out of its metadata store, whose folder is the argument.
 *
 * <p>Nobody does that for a process that was killed. The next one deletes the lock itself, and if it hears of that once
 * it has its own, it takes its own for somebody else's, deletes that, too, and so on for ever: it stores nothing.
 */
public final class ForgetBookie {
    private static final byte[] BOOKIES = "/ledgers/available/".getBytes(StandardCharsets.UTF_8);
    private static final String READ_ONLY = "readonly";

    private ForgetBookie() {}

    public static void main(String[] arguments) throws RocksDBException {
        RocksDB.loadLibrary();
        List<ColumnFamilyDescriptor> families = new ArrayList<>();
        try (Options options = new Options()) {
            for (byte[] name : RocksDB.listColumnFamilies(options, arguments[0])) {
                families.add(new ColumnFamilyDescriptor(name));
            }
        }
        List<ColumnFamilyHandle> handles = new ArrayList<>();
        try (DBOptions options = new DBOptions();
                RocksDB store = RocksDB.open(options, arguments[0], families, handles)) {
            for (ColumnFamilyHandle handle : handles) {
                forget(store, handle);
                handle.close();
            }
        }
    }

    private static void forget(RocksDB store, ColumnFamilyHandle handle) throws RocksDBException {
        try (RocksIterator entry = store.newIterator(handle)) {
            for (entry.seek(BOOKIES); entry.isValid() && isOf(entry.key()); entry.next()) {
                String name = new String(entry.key(), StandardCharsets.UTF_8).substring(BOOKIES.length);
                if (!name.startsWith(READ_ONLY)) {
                    store.delete(handle, entry.key());
                    System.out.println(name);
                }
            }
        }
    }

    private static boolean isOf(byte[] key) {
        return key.length > BOOKIES.length && Arrays.equals(key, 0, BOOKIES.length, BOOKIES, 0, BOOKIES.length);
    }
}
