package io.waybill.cli.replay;

import io.waybill.api.MessageId;
import io.waybill.cli.show.ShellWord;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/** Command that replays one call in the same way as the whole replay. Immutable. */
final class RepeatCommand {

    private final List<String> options;

    /** @param options of the whole replay, except those that select calls */
    RepeatCommand(List<String> options) {
        this.options = List.copyOf(options);
    }

    String of(long id) {
        List<String> words = new ArrayList<>(List.of("waybill", "replay"));
        words.addAll(options);
        words.addAll(List.of("--id", MessageId.text(id)));
        return words.stream().map(ShellWord::quoted).collect(Collectors.joining(" "));
    }
}
