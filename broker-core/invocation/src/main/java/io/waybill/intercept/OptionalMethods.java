package io.waybill.intercept;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;

/**
 * Methods of a kind of interceptor that have a default.
 *
 * @param type the interface
 * @param outcomes methods that follow its first method, whose defaults do nothing
 * @param asked method that returns whether an interceptor takes part in calls, whose default returns true
 * @param intercepting calls {@code asked}
 * @param <T> the kind of interceptor
 */
record OptionalMethods<T>(Class<T> type, List<Method> outcomes, Method asked, Predicate<T> intercepting) {

    static <T> OptionalMethods<T> of(Class<T> type, Predicate<T> intercepting) {
        List<Method> outcomes = new ArrayList<>();
        List<Method> asked = new ArrayList<>();
        for (Method method : type.getMethods()) {
            if (method.isDefault()) {
                (method.getReturnType() == boolean.class ? asked : outcomes).add(method);
            }
        }
        return new OptionalMethods<>(type, outcomes, asked.get(0), intercepting);
    }

    /** Returns whether an interceptor has any of the methods that follow the first one. */
    boolean seesOutcomes(T interceptor) {
        return isAnyIn(interceptor, outcomes);
    }

    /** Returns whether an interceptor need not be asked whether it takes part in calls. */
    boolean isAlwaysIntercepting(T interceptor) {
        return !isAnyIn(interceptor, List.of(asked));
    }

    /**
     * Returns whether an interceptor has any of these methods itself, or may have: a class that can't be inspected
     * counts as having them.
     */
    private boolean isAnyIn(T interceptor, List<Method> methods) {
        try {
            for (Method method : methods) {
                Method own = interceptor.getClass().getMethod(method.getName(), method.getParameterTypes());
                if (own.getDeclaringClass() != type) {
                    return true;
                }
            }
            return false;
        } catch (ReflectiveOperationException | LinkageError | SecurityException e) {
            return true;
        }
    }
}
