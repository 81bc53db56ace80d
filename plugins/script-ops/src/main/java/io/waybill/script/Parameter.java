package io.waybill.script;

import org.bytedeco.pytorch.IValue;

/**
 * One parameter of a routine. Immutable, and safe for several threads.
 *
 * @param name name in the schema
 * @param type accepted values
 * @param isKeywordOnly whether it can be given by name only
 * @param defaultValue value on the stack if the call omits it; null if it is required
 */
record Parameter(String name, ParameterType type, boolean isKeywordOnly, IValue defaultValue) {

    boolean isRequired() {
        return defaultValue == null;
    }
}
