package io.waybill.script;

import org.bytedeco.pytorch.IValue;

/**
 * One parameter of a routine. Immutable, and safe for several threads.
 *
 * @param name as in the schema
 * @param type what fits it
 * @param isKeywordOnly whether it can be given by name only
 * @param defaultValue on the stack when the call does not give it; null when it must be given
 */
record Parameter(String name, ParameterType type, boolean isKeywordOnly, IValue defaultValue) {

    boolean isRequired() {
        return defaultValue == null;
    }
}
