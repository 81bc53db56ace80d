package io.waybill.script;

import org.bytedeco.pytorch.IValue;

/**
 * One parameter of an overload. Immutable, and safe for several threads.
 *
 * @param name as in the schema
 * @param type what fits it
 * @param listType libtorch's type of a list's elements, which an empty list needs too; null for other types
 * @param isKeywordOnly whether it can be given by name only
 * @param defaultValue on the stack when the call does not give it; null when it must be given
 */
record Parameter(
        String name,
        ParameterType type,
        org.bytedeco.pytorch.Type.TypePtr listType,
        boolean isKeywordOnly,
        IValue defaultValue) {

    boolean isRequired() {
        return defaultValue == null;
    }
}
