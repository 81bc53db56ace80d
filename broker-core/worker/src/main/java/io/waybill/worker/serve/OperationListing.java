package io.waybill.worker.serve;

import io.waybill.api.ErrorCode;
import io.waybill.api.Invocation;
import io.waybill.api.Message;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.admin.OperationInfo;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.OperationDescription;
import io.waybill.api.handler.Outbox;
import io.waybill.dispatch.HandlerEntry;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.HandlerTable;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Responds to the control operation that lists what a worker serves, with the descriptions of its authors.
 *
 * <pre>
 * control:operations.list  [name] | [after]  {operations: list of {@link OperationInfo}, more}
 * </pre>
 *
 * With a name it lists that operation alone, or nothing if no handler takes it. Otherwise the list is in the order of
 * names; if it is long, it is a part, {@code more} is true, and the next part is that {@code after} its last name. Every
 * worker that serves has it, with or without bundles.
 *
 * <p><b>Threads.</b> Thread-safe.
 */
public final class OperationListing implements MessageHandler {

    public static final String NAME = "operations.list";

    /** Number of chars from which on a part of the list ends: one description has up to 40 K, a message 4 MiB. */
    static final int PART_CHARS = 1 << 18;

    private static final int CHARS_BESIDE = 100;

    private final HandlerRegistry registry;

    public OperationListing(HandlerRegistry registry) {
        this.registry = registry;
    }

    private record Part(List<OperationInfo> operations, boolean more) {}

    @Override
    public void handle(Message message, Outbox outbox) throws RejectedMessageException {
        Invocation invocation = message.invocation();
        HandlerTable table = registry.table();
        if (invocation.named().containsKey("name")) {
            List<OperationInfo> found =
                    one(table, message.text("name")).map(List::of).orElse(List.of());
            outbox.response().fields(new Part(found, false));
            return;
        }
        SortedMap<String, OperationInfo> all = all(table);
        if (invocation.named().containsKey("after")) {
            all = all.tailMap(message.text("after") + '\0');
        }
        outbox.response().fields(part(all.values()));
    }

    private static Optional<OperationInfo> one(HandlerTable table, String name) throws RejectedMessageException {
        HandlerKey key;
        try {
            key = HandlerKey.parse(name);
        } catch (IllegalArgumentException e) {
            throw new RejectedMessageException(ErrorCode.REFUSED, e.getMessage(), e);
        }
        HandlerEntry entry = table.forKey(table.deciding(key));
        if (entry == null) {
            return Optional.empty();
        }
        Optional<OperationDescription> description = entry.descriptions().stream()
                .filter(each -> HandlerKey.parse(each.name()).equals(key))
                .findFirst();
        return Optional.of(info(key, entry, description));
    }

    private static SortedMap<String, OperationInfo> all(HandlerTable table) {
        SortedMap<String, OperationInfo> all = new TreeMap<>();
        Set<List<OperationDescription>> seen = Collections.newSetFromMap(new IdentityHashMap<>()); // once per handler
        for (HandlerEntry entry : table.entries()) {
            if (!(entry.key() instanceof HandlerKey.OfControl)) {
                all.putIfAbsent(entry.key().text(), info(entry.key(), entry, Optional.empty()));
                if (seen.add(entry.descriptions())) {
                    all.putAll(described(table, entry));
                }
            }
        }
        return all;
    }

    /** Returns what a handler describes, without operations that requests of another handler get. */
    private static Map<String, OperationInfo> described(HandlerTable table, HandlerEntry entry) {
        Map<String, OperationInfo> described = new TreeMap<>();
        for (OperationDescription each : entry.descriptions()) {
            HandlerKey key = HandlerKey.parse(each.name());
            HandlerEntry serving = table.forKey(table.deciding(key));
            if (serving != null && serving.descriptions() == entry.descriptions()) {
                described.put(key.text(), info(key, entry, Optional.of(each)));
            }
        }
        return described;
    }

    private static OperationInfo info(HandlerKey key, HandlerEntry entry, Optional<OperationDescription> description) {
        return new OperationInfo(
                key.text(), entry.provider().name(), entry.provider().version(), description);
    }

    private static Part part(Collection<OperationInfo> all) {
        List<OperationInfo> part = new ArrayList<>();
        int chars = 0;
        for (OperationInfo each : all) {
            if (chars >= PART_CHARS) {
                return new Part(part, true);
            }
            part.add(each);
            chars += CHARS_BESIDE
                    + each.name().length()
                    + each.provider().length()
                    + each.description().map(OperationListing::chars).orElse(0);
        }
        return new Part(part, false);
    }

    private static int chars(OperationDescription description) {
        int chars = description.name().length() + description.summary().length();
        for (List<OperationDescription.Field> fields : List.of(description.arguments(), description.result())) {
            for (OperationDescription.Field field : fields) {
                chars += CHARS_BESIDE + field.name().length() + field.text().length();
            }
        }
        return chars;
    }
}
