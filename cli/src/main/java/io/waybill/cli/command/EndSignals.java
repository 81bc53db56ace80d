package io.waybill.cli.command;

import java.lang.invoke.MethodHandles;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.function.IntConsumer;

/**
 * SIGTERM, SIGINT and SIGHUP of this process, received by the program instead of the JVM. The JVM would begin its shutdown when one arrives,
 * beneath a program that still starts or ends: from then on each class fails whose initializer adds a shutdown hook, as those of libraries do.
 *
 * <p>Uses {@code sun.misc.Signal}, which all JDKs have in a module for such use. It is not named in the source: compilers warn of it in a way that
 * can't be switched off.
 */
final class EndSignals {

    private static final List<String> NAMES = List.of("TERM", "INT", "HUP");

    /** What is added to the number of a signal in the exit code of a process that it ended. */
    static final int EXIT_CODE = 128;

    private EndSignals() {}

    /**
     * Has each of them run a receiver with its number, on a thread of its own for each signal. What was ignored when the process began, such as SIGHUP under nohup,
     * stays ignored; under {@code -Xrs} they end the process at once, as always.
     */
    static void receive(IntConsumer receiver) {
        try {
            MethodHandles.Lookup lookup = MethodHandles.publicLookup();
            Class<?> signal = lookup.findClass("sun.misc.Signal");
            Class<?> handler = lookup.findClass("sun.misc.SignalHandler");
            Method handle = signal.getMethod("handle", signal, handler);
            Method number = signal.getMethod("getNumber");
            Object receiving = Proxy.newProxyInstance(
                    handler.getClassLoader(), new Class<?>[] {handler}, (proxy, method, args) -> {
                        if (method.getDeclaringClass() == Object.class) {
                            return method.invoke(receiver, args);
                        }
                        receiver.accept((int) number.invoke(args[0]));
                        return null;
                    });
            for (String name : NAMES) {
                receive(handle, signal.getConstructor(String.class).newInstance(name), receiving);
            }
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("signals can't be received on this Java: " + e, e);
        }
    }

    private static void receive(Method handle, Object signal, Object handler) throws ReflectiveOperationException {
        try {
            handle.invoke(null, signal, handler);
        } catch (InvocationTargetException e) {
            if (!(e.getCause() instanceof IllegalArgumentException)) { // else under -Xrs
                throw e;
            }
        }
    }
}
