package io.waybill.python;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Message;
import io.waybill.api.MessageType;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.broker.Broker;
import io.waybill.api.broker.JoinedWorker;
import io.waybill.api.handler.Exclusive;
import io.waybill.api.handler.HandlesMessage;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.NonBlocking;
import io.waybill.api.handler.Outbox;
import io.waybill.api.handler.SelectivelyBlocking;
import io.waybill.python.link.Control;
import io.waybill.python.link.ProcessLink;
import io.waybill.python.pool.ProcessPool;
import io.waybill.python.wire.FrameChannel;
import io.waybill.python.wire.Hello;
import io.waybill.python.wire.ProcessError;
import io.waybill.python.wire.ProtocolException;
import io.waybill.python.wire.SocketFrame;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Hashtable;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.osgi.framework.BundleContext;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;
import org.osgi.service.component.annotations.Modified;
import org.osgi.service.component.annotations.Reference;

/**
 * Gateway for Python processes: for each client it joins the home as a worker; its pool runs the Python calls that are
 * addressed to its own node.
 *
 * <p><b>Lifetime.</b> A change of {@code conf/io.waybill.python.cfg} is applied at run time: clients stay connected.
 */
@Exclusive
@Component(immediate = true, configurationPid = PythonGateway.PID)
@HandlesMessage({"PYTHON_CALL", PythonGateway.FETCH})
public final class PythonGateway implements MessageHandler {

    /** PID of its settings. */
    static final String PID = "io.waybill.python";

    /** Type of requests for objects in processes. */
    static final String FETCH = "PYTHON_RREF_FETCH_CALL";

    private static final Logger LOG = System.getLogger(PythonGateway.class.getName());
    private static final String SCRIPT = "waybill.python.script"; // of a replay: the program that served the calls
    private static final String SOCKET = "python.sock";
    private static final String TEMPORARY = "waybill-python";
    private static final int MAX_CLAIMS = 256; // max number of claims of names that clients of other gateways have
    private static final int RANDOM_LENGTH = 20; // max length of the random suffix of a directory's name
    private static final long HELLO_MS = 10_000;
    /** Max wait for the end of another connection with the same name, and then for that client to leave the home. */
    private static final long CONNECTION_MS = 2_000;

    private static final long LEAVE_MS = 60_000;
    /** Max time that a closing gateway waits for its clients to leave the home. */
    private static final long END_MS = 10_000;

    /**
     * Steps of the end of a client.
     *
     * @param began passed when its connection has ended
     * @param done passed when it has left the home
     */
    private record End(CountDownLatch began, CountDownLatch done) {
        End() {
            this(new CountDownLatch(1), new CountDownLatch(1));
        }
    }

    private final Broker broker;
    private final Optional<String> client; // path of the Python package
    private final String script; // empty for none
    private final ProcessPool pool;
    private final Map<String, End> names = new ConcurrentHashMap<>(); // of clients, until they have left the home
    private Path temporary; // directory of the socket, null if it is elsewhere; guarded by this
    private GatewaySocket socket; // null where there are no clients, until the pool needs one; guarded by this
    private final List<GatewaySocket> former = new ArrayList<>(); // their connections continue; guarded by this

    @Activate
    public PythonGateway(BundleContext context, @Reference Broker broker, PythonSettings.Config config)
            throws IOException {
        this.broker = broker;
        this.client = PythonSettings.client(context);
        this.script = Objects.requireNonNullElse(context.getProperty(SCRIPT), "");
        PythonSettings settings = new PythonSettings(config);
        Path wanted = wanted(settings);
        this.pool = new ProcessPool(settings.pool(client, script), broker, this::path);
        this.socket = wanted == null ? null : listen(wanted);
        if (!script.isEmpty()) { // its operations are known after its start
            context.registerService(
                    MessageHandler.class, this, new Hashtable<>(Map.of("waybill.handles.message", "*")));
        }
    }

    /** Applies changed settings; if one is invalid, none is applied. */
    @Modified
    void change(PythonSettings.Config config) {
        try {
            PythonSettings settings = new PythonSettings(config);
            move(wanted(settings));
            pool.change(settings.pool(client, script));
        } catch (IOException | IllegalArgumentException e) {
            LOG.log(
                    Level.ERROR,
                    "The settings stay as they were until conf/" + PID + ".cfg is right: " + e.getMessage());
        }
    }

    /** Moves the socket to another path for new connections. Existing ones continue. */
    private synchronized void move(Path wanted) throws IOException {
        if (wanted == null || socket != null && socket.path().equals(wanted)) {
            return;
        }
        GatewaySocket next = listen(wanted);
        if (socket != null) {
            former.removeIf(GatewaySocket::isUnused);
            former.add(socket);
            socket.stopListening();
        }
        socket = next;
    }

    private GatewaySocket listen(Path path) throws IOException {
        GatewaySocket listening = new GatewaySocket(path, this::serve);
        LOG.log(Level.DEBUG, "Python processes are served at " + path);
        return listening;
    }

    /** Returns the path of the socket, which is in a temporary directory if the node has no suitable one. */
    private synchronized Path path() throws IOException {
        if (socket == null) {
            if (temporary == null) {
                temporary = Files.createTempDirectory(temporaries(), TEMPORARY);
                temporary.toFile().deleteOnExit(); // after the socket: a replay's process may exit without closing
                temporary.resolve(SOCKET).toFile().deleteOnExit();
            }
            socket = listen(temporary.resolve(SOCKET));
        }
        return socket.path();
    }

    /** Returns the JVM's directory for temporary files, or the system's if a socket's path would be too long there. */
    private static Path temporaries() {
        Path own = Path.of(System.getProperty("java.io.tmpdir"));
        int length = own.toAbsolutePath().toString().getBytes(StandardCharsets.UTF_8).length;
        return length + TEMPORARY.length() + RANDOM_LENGTH + SOCKET.length() + 2 <= GatewaySocket.MAX_PATH
                ? own
                : Path.of("/tmp");
    }

    /** Returns the configured path; null if it is too long, and in a replay, which use a temporary directory. */
    private Path wanted(PythonSettings settings) {
        if (broker.replay().isPresent() || broker.directory().isEmpty()) {
            return null;
        }
        Path path = settings.socket().orElse(broker.directory().get().resolve(SOCKET));
        if (path.toString().getBytes(StandardCharsets.UTF_8).length <= GatewaySocket.MAX_PATH) {
            return path;
        }
        LOG.log(
                Level.WARNING,
                "No Python client can connect: the path of a socket has at most " + GatewaySocket.MAX_PATH
                        + " bytes, and " + path + " is longer; set socket in conf/" + PID + ".cfg");
        return null;
    }

    /** Makes a process of the pool run a function, or respond with an object that it holds. */
    @Override
    public void handle(Message message, Outbox outbox) throws RejectedMessageException {
        if (message.type() == MessageType.PYTHON_RREF_FETCH_CALL) {
            ProcessLink.fetch(message, outbox);
        } else {
            pool.serve(message, outbox);
        }
    }

    /** Serves a connection until it ends. */
    private void serve(FrameChannel channel) {
        try {
            SocketFrame first = channel.read(Hello.MAX_BODY, HELLO_MS);
            if (first == null) {
                return;
            }
            Hello hello = Hello.of(first);
            if (hello.role().equals(Hello.POOL)) {
                pool.run(hello, channel);
            } else if (hello.numbered()) {
                serveNumbered(hello, channel);
            } else {
                serveClient(hello, channel);
            }
        } catch (ProtocolException e) {
            disconnect(channel, e);
        } catch (CallException | IllegalArgumentException | IllegalStateException e) { // the client can't join
            channel.closeWith(SocketFrame.of(0, ProcessError.of(e)));
        } catch (IOException e) {
            LOG.log(Level.DEBUG, "The connection of a Python process ended: " + e.getMessage());
        }
    }

    private static void disconnect(FrameChannel channel, ProtocolException why) {
        LOG.log(Level.WARNING, "A Python process is disconnected: " + why.getMessage());
        channel.closeWith(SocketFrame.of(0, new ProcessError(ErrorCode.MALFORMED_BODY, why.getMessage())));
    }

    /** Serves a client under the first free one of its possible names, which it claims. */
    private void serveNumbered(Hello hello, FrameChannel channel) throws IOException {
        Optional<CallException> refused = Optional.empty();
        for (int n = 1, claims = 0; claims < MAX_CLAIMS; n++) {
            Hello named = hello.named(n == 1 ? hello.name() : hello.name() + "-" + n);
            End end = new End();
            if (names.putIfAbsent(named.name(), end) != null) {
                continue; // without a wait: another name is acceptable
            }
            try {
                refused = join(named, channel, end.began()); // such as when a client of another gateway has the name
            } finally {
                names.remove(named.name(), end);
                end.done().countDown();
            }
            if (refused.isEmpty()) {
                return;
            }
            claims++;
        }
        throw refused.orElseThrow();
    }

    private void serveClient(Hello hello, FrameChannel channel) throws IOException {
        End end = new End();
        End former = names.get(hello.name());
        try {
            if (former != null
                    && !(former.began().await(CONNECTION_MS, TimeUnit.MILLISECONDS)
                            && former.done().await(LEAVE_MS, TimeUnit.MILLISECONDS))) {
                LOG.log(Level.DEBUG, "There is a live process with the name {0}", hello.name()); // the join says which
            }
            names.putIfAbsent(hello.name(), end);
            Optional<CallException> refused = join(hello, channel, end.began());
            if (refused.isPresent()) {
                throw refused.get();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            names.remove(hello.name(), end);
            end.done().countDown();
        }
    }

    /**
     * Handler of a client's worker.
     *
     * @param link future, because a request may arrive before the link exists
     */
    @NonBlocking
    private record ClientHandler(CompletableFuture<ProcessLink> link) implements SelectivelyBlocking {

        @Override
        public boolean blocks(Message message) {
            return !link.isDone() || link.join().blocks(message);
        }

        @Override
        public void handle(Message message, Outbox outbox) throws RejectedMessageException {
            link.join().begin(message, outbox);
        }
    }

    /** Operations that a client may request of its worker. */
    private record ClientControl(JoinedWorker worker) implements Control {

        @Override
        public String shutdown(Duration limit, List<String> others) {
            return worker.shutdown(limit, others);
        }

        @Override
        public void sendAndPoll(Runnable sends) {
            worker.sendAndPoll(sends);
        }
    }

    /** Serves a client as a worker; returns why it can't join. */
    private Optional<CallException> join(Hello hello, FrameChannel channel, CountDownLatch ended) throws IOException {
        CompletableFuture<ProcessLink> joined = new CompletableFuture<>();
        Set<String> keys = new LinkedHashSet<>(hello.serves());
        keys.add(FETCH); // fetches of objects that the client itself shares
        JoinedWorker admitted;
        try {
            admitted = broker.join(hello.name(), hello.id(), List.copyOf(keys), new ClientHandler(joined));
        } catch (CallException e) {
            ended.countDown();
            return Optional.of(e);
        }
        try {
            serve(hello, channel, admitted, joined, ended);
            return Optional.empty();
        } finally {
            admitted.abandon();
            ended.countDown();
            joined.completeExceptionally(new IllegalStateException("the Python process was not admitted"));
        }
    }

    private static void serve(
            Hello hello,
            FrameChannel channel,
            JoinedWorker worker,
            CompletableFuture<ProcessLink> joined,
            CountDownLatch ended)
            throws IOException {
        String why = "the Python process of worker " + hello.name() + " (pid " + hello.pid() + ") has ended";
        String name = "worker " + hello.name() + " (pid " + hello.pid() + ")";
        hello.member().ifPresent(member -> ProcessLink.show(worker.broker(), member));
        ProcessLink link = ProcessLink.to(name, hello, channel, worker.broker(), new ClientControl(worker));
        try {
            link.welcome(true, List.of(), false);
            joined.complete(link);
            if (link.run()) {
                why = "the Python process of worker " + hello.name() + " has left";
                worker.abandon();
                channel.write(SocketFrame.empty(SocketFrame.Kind.LEAVE, 0));
            }
        } catch (ProtocolException e) {
            why = "the Python process of worker " + hello.name() + " (pid " + hello.pid() + ") was disconnected: "
                    + e.getMessage();
            disconnect(channel, e);
        } finally {
            ended.countDown();
            link.end(why);
            try {
                worker.abandon();
            } finally {
                link.unmapped();
            }
        }
    }

    /** Disconnects the processes, and stops those of the pool. */
    @Deactivate
    public void end() throws IOException {
        List<GatewaySocket> sockets = new ArrayList<>();
        synchronized (this) {
            sockets.addAll(former);
            if (socket != null) {
                sockets.add(socket);
            }
        }
        try {
            for (GatewaySocket each : sockets) {
                each.close();
            }
        } finally {
            pool.close();
            removeTemporary();
            awaitClients();
        }
    }

    /** Waits until the clients have left the home, so that another gateway can join them under the same names. */
    private void awaitClients() {
        long untilNs = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(END_MS);
        try {
            for (End each : List.copyOf(names.values())) {
                each.done().await(untilNs - System.nanoTime(), TimeUnit.NANOSECONDS);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private synchronized void removeTemporary() throws IOException {
        if (temporary != null) {
            Files.deleteIfExists(temporary);
        }
    }
}
