package io.waybill.injection;

import io.waybill.api.MessageType;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.StringJoiner;
import java.util.stream.Collectors;

/**
 * Settings of fault injection: requests that a worker fails, drops, delays, duplicates or reorders. The default is
 * {@link #NONE}.
 *
 * @param fail types whose requests fail as they are sent, each at its first {@code times} attempts
 * @param drop types whose requests are lost, each at {@code times} attempts, after the attempts that fail
 * @param times number of attempts; attempts with the same receiver, type and payload are attempts to send one request
 * @param delay delay of the requests of a type; the time for their response includes the delay
 * @param duplicate types of control messages that arrive twice
 * @param reorder types of control messages of which consecutive ones to the same receiver are swapped
 */
public record InjectionSettings(
        Set<MessageType> fail,
        Set<MessageType> drop,
        int times,
        Map<MessageType, Duration> delay,
        Set<MessageType> duplicate,
        Set<MessageType> reorder) {

    /** Settings without faults. */
    public static final InjectionSettings NONE =
            new InjectionSettings(Set.of(), Set.of(), 1, Map.of(), Set.of(), Set.of());

    /** Control messages of references and contexts: they may arrive twice and in any order. */
    private static final Set<MessageType> CONTROL = Set.of(
            MessageType.RREF_USER_DELETE,
            MessageType.RREF_FORK_REQUEST,
            MessageType.RREF_CHILD_ACCEPT,
            MessageType.CLEANUP_AUTOGRAD_CONTEXT_REQ);

    private static final Duration MAX_DELAY = Duration.ofDays(1);
    private static final int MAX_TEXT = 2_000;

    public InjectionSettings {
        fail = requests(fail);
        drop = requests(drop);
        delay = Map.copyOf(delay);
        requests(delay.keySet());
        duplicate = controls(duplicate);
        reorder = controls(reorder);
        if (times < 0) {
            throw new IllegalArgumentException("how often a request fails or is lost must not be negative: " + times);
        }
        for (Map.Entry<MessageType, Duration> each : delay.entrySet()) {
            Duration time = each.getValue();
            if (time.isNegative() || time.compareTo(MAX_DELAY) > 0) {
                throw new IllegalArgumentException(
                        "the delay of " + each.getKey() + " must be from 0 to a day: " + time);
            }
        }
    }

    private static Set<MessageType> requests(Set<MessageType> types) {
        for (MessageType type : types) {
            if (!type.isRequest()) {
                throw new IllegalArgumentException("faults befall requests, and " + type + " is none");
            }
        }
        return Set.copyOf(types);
    }

    private static Set<MessageType> controls(Set<MessageType> types) {
        for (MessageType type : types) {
            if (!CONTROL.contains(type)) {
                throw new IllegalArgumentException(
                        "only " + names(CONTROL) + " may come twice or in another order, and not " + type);
            }
        }
        return Set.copyOf(types);
    }

    /**
     * Returns the type of requests with this name.
     *
     * @throws IllegalArgumentException when there is none
     */
    public static MessageType type(String name) {
        return MessageType.named(name)
                .filter(MessageType::isRequest)
                .orElseThrow(() -> new IllegalArgumentException("no type of requests is called '" + name + "'"));
    }

    public boolean isNone() {
        return fail.isEmpty() && drop.isEmpty() && delay.isEmpty() && duplicate.isEmpty() && reorder.isEmpty();
    }

    /** Returns whether requests of a type may meet any fate other than being sent. */
    boolean concerns(MessageType type) {
        return fail.contains(type)
                || drop.contains(type)
                || delay.containsKey(type)
                || duplicate.contains(type)
                || reorder.contains(type);
    }

    public InjectionSettings withFail(MessageType... types) {
        return new InjectionSettings(set(types), drop, times, delay, duplicate, reorder);
    }

    public InjectionSettings withDrop(MessageType... types) {
        return new InjectionSettings(fail, set(types), times, delay, duplicate, reorder);
    }

    public InjectionSettings withTimes(int other) {
        return new InjectionSettings(fail, drop, other, delay, duplicate, reorder);
    }

    /** Delays another type as well. */
    public InjectionSettings withDelay(MessageType type, Duration time) {
        Map<MessageType, Duration> all = new HashMap<>(delay);
        all.put(type, time);
        return new InjectionSettings(fail, drop, times, all, duplicate, reorder);
    }

    public InjectionSettings withDuplicate(MessageType... types) {
        return new InjectionSettings(fail, drop, times, delay, set(types), reorder);
    }

    public InjectionSettings withReorder(MessageType... types) {
        return new InjectionSettings(fail, drop, times, delay, duplicate, set(types));
    }

    private static Set<MessageType> set(MessageType... types) {
        return new HashSet<>(Arrays.asList(types));
    }

    /**
     * Formats the settings for an operator: {@code fail RREF_FORK_REQUEST 3 times; delay SCRIPT_CALL 1500ms}. Empty
     * when there are no faults.
     */
    public String text() {
        StringJoiner text = new StringJoiner("; ");
        String howOften = times == 1 ? " once" : " " + times + " times";
        add(text, "fail", fail, howOften);
        add(text, "drop", drop, howOften);
        for (MessageType type : sorted(delay.keySet())) {
            text.add("delay " + type + " " + delay.get(type).toNanos() / 1_000_000 + "ms");
        }
        add(text, "duplicate", duplicate, "");
        add(text, "reorder", reorder, "");
        return text.length() <= MAX_TEXT ? text.toString() : text.toString().substring(0, MAX_TEXT) + "…";
    }

    private static void add(StringJoiner text, String what, Set<MessageType> types, String howOften) {
        if (!types.isEmpty()) {
            text.add(what + " " + names(types) + howOften);
        }
    }

    private static String names(Collection<MessageType> types) {
        return sorted(types).stream().map(MessageType::name).collect(Collectors.joining(" "));
    }

    private static List<MessageType> sorted(Collection<MessageType> types) {
        return types.isEmpty()
                ? List.of()
                : types.stream()
                        .sorted(Comparator.comparingInt(MessageType::code))
                        .toList();
    }
}
