package io.waybill.crash.agent;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.Message;
import io.waybill.api.Response;
import io.waybill.api.ResponseListener;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.Outbox;
import io.waybill.home.WorkerDirectory;
import io.waybill.home.cursor.CursorSlot;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.append.Journal;
import io.waybill.wire.Envelope;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/**
 * What a {@link Mutant} does instead of what the broker does: each method takes the object and the arguments of a call, whose types are
 * {@code Object} where the broker keeps them to itself. Most misbehave once in a while only, as bugs do. Thread-safe as the calls are.
 */
public final class Mutations {

    private static final int SELDOM = 200;
    private static final long EARLY_NS = 250_000_000;

    private static final AtomicLong CALLS = new AtomicLong();
    private static final Map<Long, ResponseListener> TIMED_OUT = new ConcurrentHashMap<>();
    private static final Map<String, Method> METHODS = new ConcurrentHashMap<>();
    private static MessageBuffer held;
    private static byte[] payload = new byte[0];
    private static volatile long incarnation;

    private Mutations() {}

    private static boolean isTime() {
        return CALLS.incrementAndGet() % SELDOM == 0;
    }

    private static boolean isOf(Journal journal, JournalQueue queue) {
        return journal.directory().endsWith(queue.directoryName());
    }

    public static long respondTwice(Journal journal, MessageBuffer record, long wallNs) throws Exception {
        long sequence = journal.append(record, wallNs);
        if (isOf(journal, JournalQueue.RESPONSES) && isTime()) {
            journal.append(record, wallNs);
        }
        return sequence;
    }

    public static long respondMost(Journal journal, MessageBuffer record, long wallNs) throws Exception {
        return appendMost(JournalQueue.RESPONSES, journal, record, wallNs);
    }

    public static long requestMost(Journal journal, MessageBuffer record, long wallNs) throws Exception {
        return appendMost(JournalQueue.REQUESTS, journal, record, wallNs);
    }

    private static long appendMost(JournalQueue queue, Journal journal, MessageBuffer record, long wallNs)
            throws Exception {
        return isOf(journal, queue) && isTime() ? journal.size() : journal.append(record, wallNs);
    }

    public static long respondOthers(Journal journal, MessageBuffer record, long wallNs) throws Exception {
        if (!isOf(journal, JournalQueue.RESPONSES)) {
            return journal.append(record, wallNs);
        }
        byte[] mine = new byte[record.length() - Envelope.HEADER_LENGTH];
        record.memory().getBytes(Envelope.HEADER_LENGTH, mine);
        if (isTime() && payload.length == mine.length) {
            record.memory().putBytes(Envelope.HEADER_LENGTH, payload);
        }
        payload = mine;
        return journal.append(record, wallNs);
    }

    public static long requestLater(Journal journal, MessageBuffer record, long wallNs) throws Exception {
        if (!isOf(journal, JournalQueue.REQUESTS)) {
            return journal.append(record, wallNs);
        }
        MessageBuffer copy = new MessageBuffer();
        copy.reserve(record.length());
        copy.memory().putBytes(0, record.memory(), 0, record.length());
        if (held != null) {
            journal.append(held, wallNs);
        }
        held = copy;
        return journal.size();
    }

    public static long olderId(Journal journal) {
        return journal.lastId() - 3;
    }

    public static long noSequence(Object lastRecord) {
        return -1;
    }

    public static int checksum(MessageBuffer record) {
        return isTime() ? 0 : (int) call(record, "checksum");
    }

    public static void keepCursor(CursorSlot slot, long index) {
        // where it is
    }

    public static void reportTwice(ResponseListener listener, Response response) {
        listener.onResponse(response);
        if (isTime()) {
            listener.onResponse(response);
        }
    }

    public static void reportMost(ResponseListener listener, Response response) {
        if (!isTime()) {
            listener.onResponse(response);
        }
    }

    public static void reportLost(ResponseListener listener, Response response) {
        if (isTime()) {
            listener.onFailure(failure(ErrorCode.WORKER_LOST, response.id()));
        } else {
            listener.onResponse(response);
        }
    }

    public static void failAndRemember(
            Object delivery, Object context, int peer, ResponseListener listener, CallException failure) {
        TIMED_OUT.put(failure.messageId(), listener);
        listener.onFailure(failure);
    }

    public static Object takeOrReport(Object pending, long id) {
        Object slot = call(pending, "take", id);
        ResponseListener notified = slot == null ? TIMED_OUT.remove(id) : null;
        if (notified != null) {
            notified.onFailure(failure(ErrorCode.TIMED_OUT, id));
        }
        return slot;
    }

    private static CallException failure(ErrorCode code, long id) {
        return new CallException(ErrorKind.UNKNOWN_ERROR, code, id, "planted");
    }

    public static long ownIncarnation(WorkerDirectory directory) {
        incarnation = directory.epoch();
        return incarnation;
    }

    public static long anyIncarnation(RecordView request) {
        return incarnation;
    }

    public static long noDeadline(RecordView request) {
        return 0;
    }

    public static boolean nothingParked(Object parking, Object key) {
        return false;
    }

    public static long expireEarly(Object pending, long nowNs, Object completed) {
        return (long) call(pending, "expire", nowNs + EARLY_NS, completed);
    }

    public static void runTwice(MessageHandler handler, Message message, Outbox outbox) throws Exception {
        handler.handle(message, outbox);
        if (isTime()) {
            handler.handle(message, outbox);
        }
    }

    /** Calls what is not public. */
    private static Object call(Object target, String name, Object... arguments) {
        Method method = METHODS.computeIfAbsent(target.getClass().getName() + name, key -> find(target, name));
        try {
            return method.invoke(target, arguments);
        } catch (InvocationTargetException e) {
            throw new IllegalStateException(e.getCause());
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
    }

    private static Method find(Object target, String name) {
        for (Method method : target.getClass().getDeclaredMethods()) {
            if (method.getName().equals(name)) {
                method.setAccessible(true);
                return method;
            }
        }
        throw new IllegalStateException("no method " + name + " in " + target.getClass());
    }
}
