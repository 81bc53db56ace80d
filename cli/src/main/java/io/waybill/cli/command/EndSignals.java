package io.waybill.cli.command;

import java.lang.invoke.MethodHandles;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.function.IntConsumer;

/**
 * Receives SIGTERM, SIGINT and SIGHUP of this process instead of the JVM. The JVM would begin its shutdown on arrival,
 * while the program still starts or stops: from then on every class fails whose initializer adds a shutdown hook, as
 * some libraries' do.
 *
 * <p>Uses {@code sun.misc.Signal}, which all JDKs have in a module for such use. The source uses it by reflection,
 * because compilers warn of it in a way that can't be disabled.
 */
final class EndSignals {

    private static final List<String> NAMES = List.of("TERM", "INT", "HUP");

    /** Offset of a signal's number in the exit code of a process that it terminated. */
    static final int EXIT_CODE = 128;

    private EndSignals() {}

    /**
     * Installs a receiver of the signals' numbers, on a separate thread for each signal. A signal that was ignored at
     * the start of the process, such as SIGHUP under nohup, stays ignored; under {@code -Xrs} signals terminate the
     * process immediately, as always.
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
            if (!(e.getCause() instanceof IllegalArgumentException)) { // otherwise under -Xrs
                throw e;
            }
        }
    }
}
