package io.waybill.python.wire;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.tensor.FilePart;
import io.waybill.api.tensor.Storage;
import io.waybill.testing.core.TestBuffers;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** The numbers of parts, and what processes say of them. */
class PartNumbersTest {

    private static final FilePart FILE = new FilePart(Path.of("/home/1.seg"), 4096);

    private final TestBuffers memory = new TestBuffers();
    private final SegmentParts parts = new SegmentParts(true);

    /** Returns a storage that a file has. */
    private Storage storage(int size) {
        Storage own = memory.allocate(size);
        return (Storage) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {Storage.class}, (proxy, method, arguments) -> {
                    Object result =
                            method.getName().equals("filePart") ? Optional.of(FILE) : method.invoke(own, arguments);
                    return result == own ? proxy : result;
                });
    }

    @Test
    void areThoseOfLargeStoragesInFiles() throws ProtocolException {
        Storage large = storage(SegmentParts.MIN_BYTES);
        Storage small = storage(SegmentParts.MIN_BYTES - 1);
        Storage inNoFile = memory.allocate(SegmentParts.MIN_BYTES);
        assertThat(parts.add(large)).contains(new SegmentParts.Part(1, FILE));
        assertThat(parts.add(small)).isEmpty();
        assertThat(parts.add(inNoFile)).isEmpty();
        assertThat(new SegmentParts(false).add(large)).isEmpty();
        large.release();
        small.release();
        inNoFile.release();
        assertThat(memory.live()).isEqualTo(1);
        parts.release(1);
        assertThat(memory.live()).isZero();
    }

    @Test
    void areLimited() throws ProtocolException {
        Storage large = storage(SegmentParts.MIN_BYTES);
        int count = 0;
        while (parts.add(large).isPresent()) {
            count++;
        }
        assertThat(count).isEqualTo(128);
        parts.close();
        parts.release(1); // of a message that was not sent because of that
        assertThat(parts.add(large)).as("when it is closed").isEmpty();
        large.release();
        assertThat(memory.live()).isZero();
    }

    @Test
    void areOnesThatTheProcessHas() throws ProtocolException {
        Storage large = storage(SegmentParts.MIN_BYTES);
        parts.add(large);
        large.release();
        for (long size : new long[] {0, SegmentParts.MIN_BYTES - 1, SegmentParts.MIN_BYTES + 1, -1}) {
            assertThatThrownBy(() -> parts.take(1, size))
                    .isInstanceOf(ProtocolException.class)
                    .hasMessageContaining("which has " + SegmentParts.MIN_BYTES);
            assertThatThrownBy(() -> parts.share(1, size)).hasMessageContaining("which has");
        }
        assertThatThrownBy(() -> parts.take(2, SegmentParts.MIN_BYTES)).hasMessageContaining("does not have");
        parts.share(1, SegmentParts.MIN_BYTES).release();
        assertThat(parts.size()).as("it is used further").isEqualTo(1);
        parts.take(1, SegmentParts.MIN_BYTES).release();
        assertThatThrownBy(() -> parts.release(1)).hasMessageContaining("1 is none");
        assertThatThrownBy(() -> parts.take(1, SegmentParts.MIN_BYTES)).hasMessageContaining("does not have");
        assertThat(memory.live()).isZero();
    }
}
