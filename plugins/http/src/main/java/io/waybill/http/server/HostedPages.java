package io.waybill.http.server;

import io.waybill.http.ListenAddress;
import io.waybill.http.Page;
import io.waybill.http.PageRequest;
import io.waybill.http.WebPages;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Collection;
import java.util.Deque;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/**
 * Pages of one service, with its properties.
 *
 * <p><b>Threads.</b> Any.
 */
final class HostedPages {

    private static final int CLOSE_LIMIT_S = 10;

    /** Max number of calls that wait; a server has no more connections. */
    private static final int MAX_WAITING = SocketConnector.MAX_CONNECTIONS;

    private final String owner;
    private final WebPages pages;
    private final ListenAddress address;
    private final Set<String> paths;
    private final Set<String> methods;
    private final Deque<Runnable> waiting = new ArrayDeque<>(); // guarded by this
    private int running; // guarded by this
    private boolean closed; // guarded by this

    /**
     * Reads the properties.
     *
     * @param owner symbolic name of the service's bundle
     * @throws IllegalArgumentException for a value that is missing or wrong; the message has the property's name
     */
    HostedPages(String owner, WebPages pages, Function<String, Object> properties) {
        this.owner = owner;
        this.pages = pages;
        Object listen = properties.apply(WebPages.LISTEN);
        if (!(listen instanceof String text)) {
            throw new IllegalArgumentException(WebPages.LISTEN + " is a text, found " + listen);
        }
        this.address = ListenAddress.parse(text.strip());
        this.paths = texts(properties, WebPages.PATHS, Set.of());
        this.methods = texts(properties, WebPages.METHODS, Set.of("GET"));
        if (paths.isEmpty() || !paths.stream().allMatch(path -> path.matches("/|(/[^/?#]+)+"))) {
            throw new IllegalArgumentException(WebPages.PATHS
                    + " has paths that begin with a slash and do not end with one, such as /metrics; found " + paths);
        }
    }

    private static Set<String> texts(Function<String, Object> properties, String name, Set<String> byDefault) {
        Object value = properties.apply(name);
        Collection<?> all = List.of();
        if (value instanceof Collection<?> several) {
            all = several;
        } else if (value instanceof Object[] several) {
            all = Arrays.asList(several);
        } else if (value != null) {
            all = List.of(value);
        }
        if (!all.stream().allMatch(String.class::isInstance)) {
            throw new IllegalArgumentException(name + " is a text or several, found " + all);
        }
        Set<String> texts = new TreeSet<>();
        all.forEach(each -> texts.add((String) each));
        return texts.isEmpty() ? byDefault : texts;
    }

    String owner() {
        return owner;
    }

    ListenAddress address() {
        return address;
    }

    Set<String> paths() {
        return paths;
    }

    /** Returns the methods that a client may use. */
    Set<String> methods() {
        Set<String> all = new TreeSet<>(methods);
        if (methods.contains("GET")) {
            all.add("HEAD");
        }
        return all;
    }

    /** Returns the length of the longest of its paths that is this path or above it; -1 for none. */
    int match(String path) {
        return paths.stream()
                .filter(each -> each.equals("/") || path.equals(each) || path.startsWith(each + "/"))
                .mapToInt(String::length)
                .max()
                .orElse(-1);
    }

    /**
     * Runs a call on this thread, or, after another call, on the thread of that one.
     *
     * @param call calls {@link #respond} and throws nothing
     * @return false if too many wait, or if it is closed
     */
    boolean run(Runnable call) {
        synchronized (this) {
            if (closed || waiting.size() >= MAX_WAITING) {
                return false;
            }
            if (running == WebPages.MAX_CALLS) {
                waiting.add(call);
                return true;
            }
            running++;
        }
        for (Runnable next = call; next != null; next = next()) {
            next.run();
        }
        return true;
    }

    private synchronized Runnable next() {
        Runnable next = waiting.poll();
        if (next == null) {
            running--;
            notifyAll();
        }
        return next;
    }

    synchronized boolean isClosed() {
        return closed;
    }

    /**
     * Calls the pages; null if they have none, or if they are closed.
     *
     * @throws Exception what the pages throw; errors of any kind, too
     */
    Page respond(PageRequest request) throws Exception {
        if (isClosed()) {
            return null;
        }
        Thread thread = Thread.currentThread();
        ClassLoader before = thread.getContextClassLoader();
        try {
            thread.setContextClassLoader(pages.getClass().getClassLoader());
            return pages.respond(request);
        } finally {
            thread.setContextClassLoader(before);
            Thread.interrupted(); // an interrupt that the pages left must not close a channel
        }
    }

    /**
     * Refuses further calls, and waits for those in flight, at most {@value #CLOSE_LIMIT_S} s.
     *
     * @return whether all of them have ended
     */
    boolean close() {
        List<Runnable> refused;
        synchronized (this) {
            closed = true;
            refused = List.copyOf(waiting);
            waiting.clear();
        }
        refused.forEach(Runnable::run);
        long endNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(CLOSE_LIMIT_S);
        boolean isInterrupted = false;
        synchronized (this) {
            while (running > 0 && System.nanoTime() - endNs < 0) {
                try {
                    TimeUnit.NANOSECONDS.timedWait(this, endNs - System.nanoTime());
                } catch (InterruptedException e) {
                    isInterrupted = true;
                }
            }
            if (isInterrupted) {
                Thread.currentThread().interrupt();
            }
            return running == 0;
        }
    }

    @Override
    public String toString() {
        return String.join(" and ", paths) + " of " + owner;
    }
}
