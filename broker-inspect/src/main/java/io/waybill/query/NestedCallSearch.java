package io.waybill.query;

import io.waybill.api.MessageId;
import io.waybill.query.stored.StoredRecord;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Follows requests to the nested requests of their handlers, and back. Visits each request once, so that damaged
 * journals can't cause a cycle. For one use. One thread.
 */
public final class NestedCallSearch {

    /** Max requests in a tree, and max depth. */
    static final int MAX_CALLS = 1000;

    static final int MAX_LEVELS = 100;
    /** Lookup of requests and of their nested requests. */
    public interface Links {

        /** Returns a request with its response; empty if it does not exist. */
        Optional<StoredCall> find(long id) throws IOException;

        /**
         * Returns the ids of the requests that handlers of a worker sent, oldest first, by the ids of the handlers'
         * requests.
         *
         * @param callee the worker to which all of the parents went
         */
        Map<Long, Collection<Long>> children(int callee, List<StoredCall> parents) throws IOException;
    }

    private final Links links;
    private final List<String> notes;
    private final Set<Long> met = new HashSet<>();

    /**
     * Creates a search.
     *
     * @param notes accepts remarks about omitted parts
     */
    public NestedCallSearch(Links links, List<String> notes) {
        this.links = links;
        this.notes = notes;
    }

    /** Request of the tree, before its children are known. */
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

    /** Returns the requests that led to this one, outermost first. */
    public List<StoredCall> ancestors(StoredRecord request) throws IOException {
        Deque<StoredCall> ancestors = new ArrayDeque<>();
        Set<Long> seen = new HashSet<>(Set.of(request.id()));
        long parent = request.parent();
        while (parent != MessageId.NONE) {
            if (!seen.add(parent) || ancestors.size() == MAX_LEVELS) {
                notes.add("the requests that led to it are more than are shown, or lead in a circle");
                break;
            }
            Optional<StoredCall> call = links.find(parent);
            if (call.isEmpty()) {
                notes.add("the request " + MessageId.text(parent) + ", which led to it, is not on record here");
                break;
            }
            ancestors.addFirst(call.get());
            parent = call.get().request().parent();
        }
        return List.copyOf(ancestors);
    }

    /** Returns the requests that the handler of this one sent, oldest first, with their descendants. */
    public List<CallTree> descendants(StoredCall of) throws IOException {
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
            List<StoredCall> parents =
                    group.getValue().stream().map(branch -> branch.call).toList();
            Map<Long, Collection<Long>> ids = links.children(group.getKey(), parents);
            for (Branch branch : group.getValue()) {
                add(ids.getOrDefault(branch.call.request().id(), List.of()), branch, next);
            }
        }
        return next;
    }

    private void add(Collection<Long> ids, Branch parent, List<Branch> next) throws IOException {
        for (long id : ids) {
            if (met.size() <= MAX_CALLS && met.add(id)) {
                Optional<StoredCall> call = links.find(id);
                if (call.isPresent()) {
                    Branch branch = new Branch(call.get());
                    parent.children.add(branch);
                    next.add(branch);
                }
            }
        }
    }
}
