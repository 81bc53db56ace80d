package io.waybill.intercept;

import java.lang.reflect.Method;
import java.util.List;
import java.util.stream.Stream;

/**
 * The methods of a kind of interceptor that have a default, which does nothing.
 *
 * @param type the interface
 * @param methods its methods with a default
 */
record OptionalMethods(Class<?> type, List<Method> methods) {

    static OptionalMethods of(Class<?> type) {
        return new OptionalMethods(
                type, Stream.of(type.getMethods()).filter(Method::isDefault).toList());
    }

    /** Returns whether an interceptor has any of these methods itself, or may have: a class that can't be looked at has them. */
    boolean isAnyIn(Object interceptor) {
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
