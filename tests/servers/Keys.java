package catchment.tests;

import java.nio.ByteBuffer;
import java.util.Map;

import org.apache.iceberg.encryption.KeyManagementClient;

/** Keeps no secret: it wraps a key by turning over its bits. Enough for Iceberg to encrypt files. */
public final class Keys implements KeyManagementClient {
    public void initialize(Map<String, String> properties) {}

    public ByteBuffer wrapKey(ByteBuffer key, String id) {
        ByteBuffer turned = ByteBuffer.allocate(key.remaining());
        for (int place = key.position(); place < key.limit(); place++) {
            turned.put((byte) ~key.get(place));
        }
        turned.flip();
        return turned;
    }

    public ByteBuffer unwrapKey(ByteBuffer wrapped, String id) {
        return wrapKey(wrapped, id);
    }
}
