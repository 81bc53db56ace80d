package io.waybill.query;

import io.waybill.api.WorkerInfo;
import io.waybill.api.journal.CallQuery;
import io.waybill.api.journal.CallRecord;
import io.waybill.api.journal.JournalFollower;
import io.waybill.api.journal.JournalReader;
import io.waybill.api.journal.MessageContent;
import io.waybill.api.journal.MessageRecord;
import io.waybill.api.tensor.Tensor;
import io.waybill.query.stored.StoredRecord;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BiConsumer;
import java.util.function.Consumer;

/**
 * Reader that was given to a bundle or a program. The boundary around its threads and its sinks: methods run one at a
 * time, also inside of a sink, and what they use is closed after the last of them.
 */
final class OwnedReader implements JournalReader {

    private final HomeJournals journals;
    private final Consumer<OwnedReader> closeListener;
    private final List<HomeFollower> followers = new ArrayList<>(); // guarded by lock
    private final ReentrantLock lock = new ReentrantLock();
    private boolean released; // guarded by lock
    private volatile boolean closed;

    /** @param closeListener called once, when everything is closed */
    OwnedReader(HomeJournals journals, Consumer<OwnedReader> closeListener) {
        this.journals = journals;
        this.closeListener = closeListener;
        journals.onProgress(records -> continueOrThrow());
    }

    /** Read of the journals. */
    private interface Step<T> {
        T read() throws IOException;
    }

    private <T> T read(Step<T> step) throws IOException {
        lock.lock();
        try {
            requireOpen();
            return step.read();
        } catch (ClosedInsideException e) {
            throw e.getCause();
        } finally {
            lock.unlock();
            if (closed) {
                close();
            }
        }
    }

    private void requireOpen() throws IOException {
        if (closed) {
            throw new IOException("the reader of the journals is closed");
        }
    }

    /** Ends a read that passes on records, from inside. */
    private void continueOrThrow() {
        try {
            requireOpen();
        } catch (IOException e) {
            throw new ClosedInsideException(e);
        }
    }

    /** Carries the end of a read through code that throws no {@link IOException}. */
    private static final class ClosedInsideException extends UncheckedIOException {
        private static final long serialVersionUID = 1L;

        ClosedInsideException(IOException cause) {
            super(cause);
        }
    }

    @Override
    public List<WorkerInfo> workers() throws IOException {
        return read(journals::workers);
    }

    @Override
    public CallQuery query() {
        return new MessageFilter.Builder();
    }

    private static MessageFilter filter(CallQuery query) {
        if (query instanceof MessageFilter.Builder builder) {
            return builder.build();
        }
        throw new IllegalArgumentException("expected a query of a JournalReader, found " + query);
    }

    private static StoredRecord stored(MessageRecord message) {
        if (message instanceof StoredRecord record) {
            return record;
        }
        throw new IllegalArgumentException("expected a message of a JournalReader, found " + message);
    }

    @Override
    public Optional<StoredCall> find(long id) throws IOException {
        return read(() -> journals.find(id));
    }

    @Override
    public void list(CallQuery query, int newest, Consumer<? super CallRecord> sink) throws IOException {
        MessageFilter filter = filter(query);
        if (newest < 0) {
            throw new IllegalArgumentException("newest must be at least 0, and is " + newest);
        }
        read(() -> {
            journals.list(filter, newest, call -> {
                continueOrThrow();
                sink.accept(call);
            });
            return null;
        });
    }

    @Override
    public Optional<? extends MessageContent> content(MessageRecord message) throws IOException {
        return read(() -> journals.payload(stored(message)));
    }

    @Override
    public void read(MessageRecord message, Tensor tensor, long offset, ByteBuffer to) throws IOException {
        if (offset < 0 || offset > tensor.storage().sizeBytes() - to.remaining()) {
            throw new IllegalArgumentException("expected a part of "
                    + tensor.storage().sizeBytes() + " bytes, found " + to.remaining() + " bytes at " + offset);
        }
        read(() -> {
            journals.tensors().read(stored(message), tensor, offset, to);
            return null;
        });
    }

    @Override
    public JournalFollower follow(CallQuery query) throws IOException {
        MessageFilter filter = filter(query);
        return read(() -> {
            HomeFollower follower = journals.follow(filter);
            followers.add(follower);
            follower.begin(0, entry -> {});
            return new OwnedFollower(follower);
        });
    }

    /** Follower that ends with the reader. */
    private final class OwnedFollower implements JournalFollower {

        private final HomeFollower follower;

        OwnedFollower(HomeFollower follower) {
            this.follower = follower;
        }

        @Override
        public int poll(BiConsumer<? super MessageRecord, Optional<String>> sink) throws IOException {
            return read(() -> {
                if (!followers.contains(follower)) {
                    throw new IOException("the follower of the journals is closed");
                }
                return follower.poll(entry -> {
                    continueOrThrow();
                    sink.accept(entry.record(), entry.operation());
                });
            });
        }

        @Override
        public void close() throws IOException {
            if (!closed) {
                read(() -> {
                    if (followers.remove(follower)) {
                        follower.close();
                    }
                    return null;
                });
            }
        }
    }

    @Override
    public void close() {
        closed = true;
        if (!lock.tryLock()) {
            return; // by the method that runs, at its end
        }
        try {
            if (lock.getHoldCount() == 1 && !released) {
                released = true;
                release();
            }
        } finally {
            lock.unlock();
        }
    }

    private void release() {
        closeListener.accept(this);
        followers.forEach(HomeFollower::close);
        journals.close();
    }
}
