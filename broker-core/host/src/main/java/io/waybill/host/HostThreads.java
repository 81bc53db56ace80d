package io.waybill.host;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;

/** Threads of this JVM. Thread-safe. */
final class HostThreads implements Threads {

    private static final MethodHandle IS_VIRTUAL = findIsVirtual();

    @Override
    public Thread start(String name, Runnable body) {
        Thread thread = new Own(body, name);
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    /** Thread of the core, as distinct from the program's threads. */
    static final class Own extends Thread {
        private Own(Runnable body, String name) {
            super(body, name);
        }
    }

    static boolean isVirtual(Thread thread) {
        try {
            return (boolean) IS_VIRTUAL.invokeExact(thread);
        } catch (RuntimeException | Error e) { // such as an overflow of the stack
            throw e;
        } catch (Throwable e) { // declared by the handle, and thrown by no such method
            throw new IllegalStateException(e);
        }
    }

    /** Finds the method {@code isVirtual} of Java 21 and later; in earlier versions no thread is virtual. */
    private static MethodHandle findIsVirtual() {
        MethodType type = MethodType.methodType(boolean.class);
        try {
            return MethodHandles.publicLookup().findVirtual(Thread.class, "isVirtual", type);
        } catch (ReflectiveOperationException e) {
            return MethodHandles.dropArguments(MethodHandles.constant(boolean.class, false), 0, Thread.class);
        }
    }
}
