package io.waybill.cli.select;

import io.waybill.api.MessageType;
import io.waybill.api.tensor.Tensor;
import io.waybill.cli.argument.ArgumentException;
import io.waybill.cli.argument.ValueReader;
import io.waybill.cli.command.UsageException;
import io.waybill.host.Clock;
import io.waybill.query.ArgumentCondition;
import io.waybill.query.MessageFilter;
import java.time.ZoneId;
import java.util.List;
import java.util.Locale;
import picocli.CommandLine.Option;

/** Command-line options that select messages by their header fields. */
public final class MessageSelection {

    /** Mark before the equals sign of a value instead of a text. */
    private static final char VALUE_MARK = ':';

    @Option(
            names = "--id",
            paramLabel = "ID[..ID]",
            description = "Only with this id, or with one from the first to the last: 3.1041, 3.1000..3.1999.")
    private String ids;

    @Option(names = "--parent", paramLabel = "ID", description = "Only sent by the handler of this request.")
    private String parent;

    @Option(
            names = "--type",
            paramLabel = "TYPE",
            description = "Only of this type: SCRIPT_CALL, NAMED_CALL, 0x142, ...")
    private String type;

    @Option(
            names = "--operation",
            paramLabel = "NAME",
            description = "Only calls of this operation; * stands for any letters: text.*, *.count.")
    private String operation;

    @Option(
            names = "--where",
            paramLabel = "ARGUMENT=VALUE",
            description = {
                "Only calls with this argument: amount=1500, order.customer=acme for a field inside of it, 0=7 for the first"
                        + " one without a name. amount:=1500 is the number alone, and not text. May be repeated: all must"
                        + " match."
            })
    private List<String> arguments = List.of();

    @Option(names = "--control", description = "Only calls to nodes themselves, such as installing a bundle.")
    private boolean control;

    @Option(
            names = "--since",
            paramLabel = "TIME",
            description =
                    "Only sent at this time or later: 2026-11-20, 2026-11-20T08:00, 2026-11-20T08:00+01:00, 08:00 for today,"
                            + " or 10m for ten minutes ago. Without an offset, in this time zone.")
    private String since;

    @Option(names = "--until", paramLabel = "TIME", description = "Only sent before this time.")
    private String until;

    /** Adds the selected conditions to a filter. */
    public MessageFilter.Builder addTo(MessageFilter.Builder filter, Clock clock) throws UsageException {
        if (ids != null) {
            long[] range = MessageIds.range(ids);
            filter.ids(range[0], range[1]);
        }
        if (parent != null) {
            filter.parent(MessageIds.parse(parent));
        }
        if (type != null) {
            filter.type(typeNamed(type));
        }
        if (operation != null) {
            filter.operation(operation);
        }
        if (control) {
            addControl(filter);
        }
        for (String argument : arguments) {
            filter.argument(condition(argument));
        }
        addTimes(filter, clock.wallNs(), ZoneId.systemDefault());
        return filter;
    }

    private void addTimes(MessageFilter.Builder filter, long nowNs, ZoneId zone) throws UsageException {
        long sinceNs = since == null ? Long.MIN_VALUE : WrittenTime.parse(since, nowNs, zone);
        long untilNs = until == null ? Long.MAX_VALUE : WrittenTime.parse(until, nowNs, zone);
        if (sinceNs >= untilNs) {
            throw new UsageException("no time is in --since " + since + " --until " + until);
        }
        if (since != null) {
            filter.since(sinceNs);
        }
        if (until != null) {
            filter.until(untilNs);
        }
    }

    private void addControl(MessageFilter.Builder filter) throws UsageException {
        if (type != null) {
            throw new UsageException("--control selects a type, and so does --type " + type + ": give one of them");
        }
        filter.type(MessageType.CONTROL_CALL);
    }

    private static ArgumentCondition condition(String text) throws UsageException {
        int at = text.indexOf('=');
        if (at < 1 || text.startsWith(":=")) {
            throw new UsageException("--where takes ARGUMENT=VALUE, such as amount=1500, and not " + text);
        }
        String value = text.substring(at + 1);
        if (text.charAt(at - 1) != VALUE_MARK) {
            return ArgumentCondition.written(text.substring(0, at), value);
        }
        try {
            return ArgumentCondition.equalTo(
                    text.substring(0, at - 1), ValueReader.read(value, MessageSelection::refuseFile));
        } catch (ArgumentException e) {
            throw new UsageException("--where " + text + ": " + e.getMessage(), e);
        }
    }

    private static Tensor refuseFile(String file) throws ArgumentException {
        throw new ArgumentException("calls are not found by a tensor: " + file);
    }

    private static MessageType typeNamed(String name) throws UsageException {
        return MessageType.named(name.toUpperCase(Locale.ROOT).replace("0X", "0x"))
                .orElseThrow(() -> new UsageException("no message type is named " + name));
    }
}
