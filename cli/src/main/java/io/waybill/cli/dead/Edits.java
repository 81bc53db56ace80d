package io.waybill.cli.dead;

import io.waybill.api.Invocation;
import io.waybill.api.Value;
import io.waybill.cli.argument.ArgumentException;
import io.waybill.cli.argument.CallArguments;
import io.waybill.cli.argument.TensorFiles;
import io.waybill.cli.command.UsageException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Fields that replace those of a failed call, in the syntax of {@code waybill call}. Immutable.
 *
 * @param words {@code name=text}, {@code name:=value} or {@code name=@file} each
 */
record Edits(List<String> words) {

    boolean isEmpty() {
        return words.isEmpty();
    }

    /** Returns the call with the edited fields in their places, and others at its end. */
    Invocation of(Invocation call, TensorFiles files) throws UsageException {
        Map<String, Value> named = new LinkedHashMap<>(call.named());
        named.putAll(parse(files));
        return new Invocation(call.name(), call.positional(), named, call.mode());
    }

    /** Returns the fields by name. */
    Map<String, Value> parse(TensorFiles files) throws UsageException {
        CallArguments read = new CallArguments(files);
        for (String word : words) {
            try {
                read.add(word);
            } catch (ArgumentException e) {
                throw new UsageException("--edit '" + word + "': " + e.getMessage(), e);
            }
            if (!read.toInvocation("").positional().isEmpty()) {
                throw new UsageException("--edit takes FIELD:=VALUE or FIELD=TEXT, and not '" + word + "'");
            }
        }
        return read.toInvocation("").named();
    }
}
