package io.waybill.query;

import io.waybill.api.MessageId;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.RecordPosition;
import io.waybill.journal.index.JournalIndex;
import io.waybill.journal.read.QueueReader;
import io.waybill.journal.read.QueueReader.Step;
import io.waybill.query.stored.Payload;
import io.waybill.query.stored.StoredJournal;
import io.waybill.query.stored.StoredJournals;
import io.waybill.query.stored.StoredRecord;
import io.waybill.wire.RecordView;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.LongConsumer;

/**
 * Follows requests to the nested requests of their handlers, and back, through the journals of all workers. Visits each
 * request once, so that damaged journals can't cause a cycle. For one use. One thread.
 */
final class NestedCallSearch {

    /** Max requests in a tree, and max depth. */
    static final int MAX_CALLS = 1000;

    static final int MAX_LEVELS = 100;
    /** Margin: a clock may have been set, and a handler may continue after its response. */
    private static final long LATE_CHILD_NS = 10_000_000_000L;

    private static final int PROGRESS_RECORDS = 1 << 16;

    private final StoredJournals journals;
    private final LongConsumer progress;
    private final List<String> notes;
    private final Set<Long> met = new HashSet<>();
    private long read;

    /**
     * Creates a search.
     *
     * @param notes accepts remarks about omitted parts
     */
    NestedCallSearch(StoredJournals journals, LongConsumer progress, List<String> notes) {
        this.journals = journals;
        this.progress = progress;
        this.notes = notes;
    }

    /** A request of the tree, before its children are known. */
    private static final class Branch {
        private final StoredCall call;
        private final List<Branch> children = new ArrayList<>();

        Branch(StoredCall call) {
            this.call = call;
        }

        CallTree tree() {
            return new CallTree(call, children.stream().map(Branch::tree).toList());
        }
    }

    /** The requests that led to this one, the first of all first. */
    List<StoredCall> ancestors(StoredRecord request) throws IOException {
        Deque<StoredCall> ancestors = new ArrayDeque<>();
        Set<Long> seen = new HashSet<>(Set.of(request.id()));
        long parent = request.parent();
        while (parent != MessageId.NONE) {
            if (!seen.add(parent) || ancestors.size() == MAX_LEVELS) {
                notes.add("the requests that led to it are more than are shown, or lead in a circle");
                break;
            }
            Optional<StoredCall> call = find(parent);
            if (call.isEmpty()) {
                notes.add("the request " + MessageId.text(parent) + ", which led to it, is not in the journals");
                break;
            }
            ancestors.addFirst(call.get());
            parent = call.get().request().parent();
        }
        return List.copyOf(ancestors);
    }

    /** The requests that the handler of this one sent, oldest first, with theirs. */
    List<CallTree> descendants(StoredCall of) throws IOException {
        Branch root = new Branch(of);
        met.add(of.request().id());
        List<Branch> level = List.of(root);
        for (int depth = 0; !level.isEmpty(); depth++) {
            if (depth == MAX_LEVELS || met.size() > MAX_CALLS) {
                notes.add("the tree has more requests below than are shown");
                break;
            }
            level = below(level);
        }
        return root.tree().children();
    }

    private List<Branch> below(List<Branch> level) throws IOException {
        Map<Integer, List<Branch>> byCallee = new LinkedHashMap<>();
        for (Branch branch : level) {
            byCallee.computeIfAbsent(branch.call.request().to(), callee -> new ArrayList<>())
                    .add(branch);
        }
        List<Branch> next = new ArrayList<>();
        for (Map.Entry<Integer, List<Branch>> group : byCallee.entrySet()) {
            Optional<StoredJournal> callee = journals.find(group.getKey());
            if (callee.isPresent()) {
                Map<Long, Collection<Long>> ids = children(callee.get(), group.getValue());
                for (Branch branch : group.getValue()) {
                    add(ids.getOrDefault(branch.call.request().id(), List.of()), branch, next);
                }
            }
        }
        return next;
    }

    private void add(Collection<Long> ids, Branch parent, List<Branch> next) throws IOException {
        for (long id : ids) {
            if (met.size() <= MAX_CALLS && met.add(id)) {
                Optional<StoredCall> call = find(id);
                if (call.isPresent()) {
                    Branch branch = new Branch(call.get());
                    parent.children.add(branch);
                    next.add(branch);
                }
            }
        }
    }

    /** Returns children by parent: from the index, or by one scan of the queue for all of them. */
    private Map<Long, Collection<Long>> children(StoredJournal callee, List<Branch> parents) throws IOException {
        Map<Long, Collection<Long>> ids = new HashMap<>();
        JournalIndex index = journals.index(callee);
        for (Branch parent : parents) {
            long id = parent.call.request().id();
            Optional<List<Long>> known = index.children(id, MAX_CALLS);
            if (known.isEmpty()) {
                return search(callee, parents);
            }
            ids.put(id, known.get());
        }
        return ids;
    }

    private Map<Long, Collection<Long>> search(StoredJournal callee, List<Branch> parents) throws IOException {
        Map<Long, Collection<Long>> ids = new HashMap<>();
        long untilNs = Long.MIN_VALUE;
        for (Branch parent : parents) {
            ids.put(parent.call.request().id(), new LinkedHashSet<>());
            untilNs = Math.max(untilNs, lastChildNs(parent.call));
        }
        try (QueueReader reader = callee.read(JournalQueue.REQUESTS, journals.host())) {
            for (Step step = reader.skim(); step != Step.END; step = reader.skim()) {
                if (++read % PROGRESS_RECORDS == 0) {
                    progress.accept(read);
                }
                RecordView record = reader.record();
                if (step == Step.RECORD && record.sentNs() > untilNs) {
                    break;
                }
                Collection<Long> found = step == Step.RECORD ? ids.get(record.parent()) : null;
                if (found != null && found.size() < MAX_CALLS) {
                    found.add(record.id());
                }
            }
        }
        return ids;
    }

    private static long lastChildNs(StoredCall parent) {
        return parent.response()
                .map(response -> response.sentNs() + LATE_CHILD_NS)
                .orElse(Long.MAX_VALUE);
    }

    /** A request with its response, through the indexes. */
    private Optional<StoredCall> find(long id) throws IOException {
        Optional<StoredJournal> caller = journals.find(MessageId.worker(id));
        if (caller.isEmpty()) {
            return Optional.empty();
        }
        JournalIndex index = journals.index(caller.get());
        Optional<RecordPosition> position = index.find(JournalQueue.REQUESTS, id);
        if (position.isEmpty()) {
            return Optional.empty();
        }
        RecordView record = index.record(JournalQueue.REQUESTS);
        StoredRecord request = StoredRecord.of(caller.get().info(), JournalQueue.REQUESTS, position.get(), record);
        Optional<String> operation = Payload.operationOf(record);
        return Optional.of(new StoredCall(request, operation, journals.responseTo(request)));
    }
}
