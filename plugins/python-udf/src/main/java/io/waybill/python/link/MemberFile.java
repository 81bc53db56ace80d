package io.waybill.python.link;

import io.waybill.api.RejectedMessageException;
import io.waybill.api.Value;
import io.waybill.api.ValueDecoder;
import io.waybill.api.ValueEncoder;
import io.waybill.api.broker.Broker;
import io.waybill.api.broker.Incarnation;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.Channels;
import java.nio.channels.SeekableByteChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Published information of clients for all workers of the home, such as their rank in a group: a file in the directory
 * of a client's worker. Gateways read each other's files. Stateless.
 */
final class MemberFile {

    /** Max size of the information of a client, in bytes. */
    static final int MAX_BYTES = 4096;

    private static final String FILE = "python.member";
    private static final Value EPOCH = Value.of("epoch");
    private static final Value MEMBER = Value.of("member");

    private MemberFile() {}

    /**
     * Publishes the information of a client, until its worker has ended or {@link #withdraw} is called.
     *
     * @param broker of its worker
     * @throws IOException if it can't be written
     * @throws IllegalArgumentException if it is too long
     */
    static void show(Broker broker, Value.Dict member) throws IOException {
        Optional<Path> directory = broker.directory();
        if (directory.isEmpty()) {
            return;
        }
        Value shown = new Value.Dict(Map.of(EPOCH, Value.of(broker.self().epoch()), MEMBER, member));
        byte[] bytes = new ValueEncoder().value(shown).toBytes();
        if (bytes.length > MAX_BYTES) {
            throw new IllegalArgumentException(
                    "member in HELLO has at most " + MAX_BYTES + " bytes, and not " + bytes.length);
        }
        Path written = directory.get().resolve(FILE + ".new");
        Files.write(written, bytes);
        Files.move(written, directory.get().resolve(FILE), StandardCopyOption.ATOMIC_MOVE);
    }

    /** Removes the information. */
    static void withdraw(Broker broker) throws IOException {
        if (broker.directory().isPresent()) {
            Files.deleteIfExists(broker.directory().get().resolve(FILE));
        }
    }

    /**
     * Returns the information of a worker's client; empty for any other worker.
     *
     * @param workers directory with the directories of all workers
     */
    static Optional<Value> of(Path workers, Incarnation worker) {
        Path file = workers.resolve(worker.worker().id() + "-" + worker.worker().name())
                .resolve(FILE);
        if (!Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)) {
            return Optional.empty();
        }
        try (SeekableByteChannel channel =
                Files.newByteChannel(file, Set.of(StandardOpenOption.READ, LinkOption.NOFOLLOW_LINKS))) {
            byte[] bytes = Channels.newInputStream(channel).readNBytes(MAX_BYTES);
            ByteBuffer content = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
            Value shown = new ValueDecoder(content, List.of()).value();
            return shown instanceof Value.Dict dict
                            && Value.of(worker.epoch()).equals(dict.entries().get(EPOCH))
                    ? Optional.ofNullable(dict.entries().get(MEMBER))
                    : Optional.empty(); // of an earlier incarnation
        } catch (IOException | RejectedMessageException e) {
            return Optional.empty(); // withdrawn meanwhile, or written by other code
        }
    }
}
