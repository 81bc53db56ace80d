package io.waybill.event;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.HashSet;
import java.util.Random;
import java.util.Set;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Names are hashed and compared where they are, by exactly their bytes. */
class NameBytesTest {

    private static final int AT = 3;

    private final Random random = new Random(42);

    /** A payload that ends with the name, so that a read behind it is refused by the buffer. */
    private byte[] payloadWith(byte[] name) {
        byte[] payload = new byte[AT + name.length];
        random.nextBytes(payload);
        System.arraycopy(name, 0, payload, AT, name.length);
        return payload;
    }

    private byte[] name(int length) {
        byte[] name = new byte[length];
        random.nextBytes(name);
        return name;
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 7, 8, 9, 15, 16, 17, 24, 31, 255})
    void seesTheSameNameInAnArrayAndInABuffer(int length) {
        byte[] name = name(length);
        byte[] payload = payloadWith(name);
        UnsafeBuffer buffer = new UnsafeBuffer(payload);
        assertThat(NameBytes.isSame(name, payload, AT, length)).isTrue();
        assertThat(NameBytes.isSame(name, buffer, AT, length)).isTrue();
        long hash = NameBytes.hash(name, 0, length);
        assertThat(NameBytes.hash(payload, AT, length)).isEqualTo(hash);
        assertThat(NameBytes.hash(buffer, AT, length)).isEqualTo(hash);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 7, 8, 9, 15, 16, 17, 24, 31, 255})
    void seesEachByteThatDiffers(int length) {
        byte[] name = name(length);
        Set<Long> hashes = new HashSet<>(Set.of(NameBytes.hash(name, 0, length)));
        for (int i = 0; i < length; i++) {
            byte[] other = Arrays.copyOf(name, length);
            other[i] ^= 1;
            byte[] payload = payloadWith(other);
            assertThat(NameBytes.isSame(name, payload, AT, length))
                    .as("array, byte %s", i)
                    .isFalse();
            assertThat(NameBytes.isSame(name, new UnsafeBuffer(payload), AT, length))
                    .as("buffer, byte %s", i)
                    .isFalse();
            hashes.add(NameBytes.hash(payload, AT, length));
        }
        assertThat(hashes).as("hashes of %s names", length + 1).hasSize(length + 1);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 8, 20})
    void seesADifferentLength(int length) {
        byte[] name = name(length);
        byte[] payload = payloadWith(name);
        assertThat(NameBytes.isSame(name, payload, AT, length - 1)).isFalse();
        assertThat(NameBytes.isSame(name, new UnsafeBuffer(payload), AT, length - 1))
                .isFalse();
        assertThat(NameBytes.hash(name, 0, length)).isNotEqualTo(NameBytes.hash(name, 0, length - 1));
    }

    /** A payload may be shorter than the position of a name that it hasn't got. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2})
    void readsNothingOfAnAbsentName(int payloadLength) {
        byte[] payload = new byte[payloadLength];
        assertThat(NameBytes.isSame(new byte[0], payload, AT, 0)).isTrue();
        assertThat(NameBytes.isSame(new byte[0], new UnsafeBuffer(payload), AT, 0))
                .isTrue();
        assertThat(NameBytes.hash(payload, AT, 0)).isEqualTo(NameBytes.hash(new byte[0], 0, 0));
    }
}
