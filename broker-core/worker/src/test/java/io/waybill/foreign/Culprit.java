package io.waybill.foreign;

import io.waybill.api.Message;
import io.waybill.api.Response;
import io.waybill.api.intercept.HandledMessage;
import io.waybill.api.intercept.IncomingResponse;
import io.waybill.api.intercept.OutgoingCall;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** Foreign code that misbehaves in one method, in one way. Thread-safe. */
public final class Culprit {

    private final Row row;
    private final CountDownLatch hold = new CountDownLatch(1);
    private final AtomicInteger happened = new AtomicInteger();
    private final List<Object> kept = new CopyOnWriteArrayList<>();

    public Culprit(Row row) {
        this.row = row;
    }

    /**
     * Misbehaves if this is the method of the row.
     *
     * @param otherwise what the method returns when it behaves
     * @param given what the method was given
     */
    public <T> T in(String method, T otherwise, Object... given) {
        if (!method.equals(row.method())) {
            return otherwise;
        }
        happened.incrementAndGet();
        switch (row.how()) {
            case EXCEPTION -> throw new IllegalStateException("planted");
            case ERROR -> throw new StackOverflowError("planted");
            case UNREADABLE -> throw new Unreadable();
            case NULL -> {
                return null;
            }
            case HANG -> hang();
            case RELEASES_TWICE -> List.of(given).forEach(Culprit::releaseTwice);
            case CALLS_AFTER_END -> kept.addAll(List.of(given));
        }
        return otherwise;
    }

    /**
     * Misbehaves if this is the method of the row, for names that several extension points have.
     *
     * @param on the extension point
     */
    <T> T in(Class<?> on, String method, T otherwise, Object... given) {
        return on == row.on() ? in(method, otherwise, given) : otherwise;
    }

    /** Returns how often it has misbehaved. */
    public int happened() {
        return happened.get();
    }

    /** Lets it return. */
    public void letGo() {
        hold.countDown();
    }

    private void hang() {
        boolean interrupted = false;
        while (hold.getCount() > 0) {
            try {
                hold.await(60, TimeUnit.SECONDS);
            } catch (InterruptedException e) {
                interrupted = true; // it does not care
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private static void releaseTwice(Object given) {
        attempt(() -> {
            if (given instanceof Storage storage) {
                storage.release();
                storage.release();
            }
            for (Tensor tensor : tensors(given)) {
                tensor.storage().release();
                tensor.storage().release();
            }
            if (given instanceof Response response) {
                response.close();
                response.close();
            }
        });
    }

    private static List<Tensor> tensors(Object given) {
        if (given instanceof Message message) {
            return message.tensors();
        } else if (given instanceof Response response) {
            return response.tensors();
        } else if (given instanceof OutgoingCall call) {
            return call.tensors();
        } else if (given instanceof IncomingResponse incoming) {
            return incoming.response().tensors();
        } else if (given instanceof HandledMessage handled) {
            return handled.tensors();
        }
        return List.of();
    }

    /** Calls every method of what was kept: with null for each object and zero for each number. What that throws is the culprit's own problem. */
    public void useKept() {
        for (Object object : kept) {
            for (Class<?> type : object.getClass().getInterfaces()) {
                for (Method method : type.getMethods()) {
                    use(object, method);
                }
            }
        }
    }

    private static void use(Object object, Method method) {
        boolean isWaiting = method.getName().equals("pause"); // a time of null is no time
        if (method.getDeclaringClass().getName().startsWith("io.waybill.api") && !isWaiting) {
            attempt(() -> {
                method.setAccessible(true);
                method.invoke(object, zeros(method.getParameterTypes()));
            });
        }
    }

    private static Object[] zeros(Class<?>... types) {
        Object[] zeros = new Object[types.length];
        for (int i = 0; i < types.length; i++) {
            if (types[i] == long.class) {
                zeros[i] = 0L;
            } else if (types[i] == int.class) {
                zeros[i] = 0;
            } else if (types[i] == boolean.class) {
                zeros[i] = false;
            }
        }
        return zeros;
    }

    private interface Step {
        void run() throws Exception;
    }

    private static void attempt(Step step) {
        try {
            step.run();
        } catch (InvocationTargetException e) {
            if (e.getCause() instanceof VirtualMachineError && !(e.getCause() instanceof StackOverflowError)) {
                throw new AssertionError("what was kept broke the JVM", e.getCause());
            }
        } catch (Exception e) { // the right response to such a call
            return;
        }
    }

    /** An exception whose every method throws, too. */
    static final class Unreadable extends RuntimeException {
        private static final long serialVersionUID = 1L;

        @Override
        public String getMessage() {
            throw new IllegalStateException("planted in getMessage");
        }

        @Override
        public String toString() {
            throw new IllegalStateException("planted in toString");
        }

        @Override
        public StackTraceElement[] getStackTrace() {
            throw new IllegalStateException("planted in getStackTrace");
        }
    }
}
