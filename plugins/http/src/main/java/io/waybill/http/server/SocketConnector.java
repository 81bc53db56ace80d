package io.waybill.http.server;

import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.channels.SelectableChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.eclipse.jetty.io.Connection;
import org.eclipse.jetty.io.EndPoint;
import org.eclipse.jetty.io.ManagedSelector;
import org.eclipse.jetty.io.SelectorManager;
import org.eclipse.jetty.io.SocketChannelEndPoint;
import org.eclipse.jetty.server.AbstractConnector;
import org.eclipse.jetty.server.HttpConnectionFactory;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.util.thread.Scheduler;

/**
 * Connections of one listening socket. A connection is closed after {@value #LIMIT_S} s, or if {@value #MAX_CONNECTIONS}
 * newer ones exist, so that no client can hold the server.
 *
 * <p><b>Threads.</b> One of the server's selects, and accepts: in that way no interrupt closes a socket.
 * <b>Ownership.</b> The maker closes the socket.
 */
final class SocketConnector extends AbstractConnector {

    /** Max number of concurrent connections. */
    static final int MAX_CONNECTIONS = 32;

    /** Max duration of a connection, in seconds. */
    static final int LIMIT_S = 10;

    private static final long RETRY_NS = TimeUnit.MILLISECONDS.toNanos(100);
    private static final Logger LOG = System.getLogger(SocketConnector.class.getName());

    private final ListeningSocket socket;
    private final SelectorManager selector;
    private final Map<Object, Runnable> ends = new LinkedHashMap<>(); // by channel, oldest first; guarded by itself

    SocketConnector(Server server, ListeningSocket socket, HttpConnectionFactory http) {
        super(server, null, null, null, 0, http);
        this.socket = socket;
        this.selector = new Selector();
        installBean(selector, true);
        setIdleTimeout(TimeUnit.SECONDS.toMillis(LIMIT_S));
    }

    @Override
    protected void doStart() throws Exception {
        super.doStart();
        selector.acceptor(socket.channel());
    }

    @Override
    protected void accept(int acceptor) {
        throw new UnsupportedOperationException("the selector accepts: it has no such thread");
    }

    @Override
    public Object getTransport() {
        return socket;
    }

    private void note(SelectableChannel channel) {
        synchronized (ends) {
            ends.put(channel, () -> {});
        }
        endOldest(MAX_CONNECTIONS);
    }

    @Override
    protected void onEndPointOpened(EndPoint connection) {
        super.onEndPointOpened(connection);
        Scheduler.Task limit = getScheduler().schedule(connection::close, LIMIT_S, TimeUnit.SECONDS);
        Runnable end = () -> {
            limit.cancel();
            connection.close();
        };
        boolean isAwaited;
        synchronized (ends) {
            isAwaited = ends.replace(connection.getTransport(), end) != null;
        }
        if (!isAwaited) {
            end.run(); // newer ones came first
        }
    }

    @Override
    protected void onEndPointClosed(EndPoint connection) {
        Runnable end;
        synchronized (ends) {
            end = ends.remove(connection.getTransport());
        }
        if (end != null) {
            end.run();
        }
        super.onEndPointClosed(connection);
    }

    private void endOldest(int remaining) {
        while (true) {
            Runnable end;
            synchronized (ends) {
                if (ends.size() <= remaining) {
                    return;
                }
                end = ends.remove(ends.keySet().iterator().next());
            }
            end.run();
        }
    }

    /** Jetty's selector, for the connections of this object. */
    private final class Selector extends SelectorManager {

        Selector() {
            super(SocketConnector.this.getExecutor(), SocketConnector.this.getScheduler(), 1);
        }

        /** Makes room if the process has no descriptors left. */
        @Override
        protected SelectableChannel doAccept(SelectableChannel server) throws IOException {
            try {
                return super.doAccept(server);
            } catch (IOException e) {
                LOG.log(Level.WARNING, "A connection at {0} could not be accepted: {1}", socket, e.getMessage());
                endOldest(0);
                LockSupport.parkNanos(RETRY_NS);
                return null;
            }
        }

        @Override
        protected void accepted(SelectableChannel channel) throws IOException {
            channel.configureBlocking(false);
            note(channel);
            accept(channel);
        }

        @Override
        protected EndPoint newEndPoint(SelectableChannel channel, ManagedSelector managed, SelectionKey key) {
            SocketChannelEndPoint endPoint =
                    new SocketChannelEndPoint((SocketChannel) channel, managed, key, getScheduler());
            endPoint.setIdleTimeout(getIdleTimeout());
            return endPoint;
        }

        @Override
        public Connection newConnection(SelectableChannel channel, EndPoint endPoint, Object attachment) {
            return getDefaultConnectionFactory().newConnection(SocketConnector.this, endPoint);
        }

        @Override
        protected void endPointOpened(EndPoint endPoint) {
            super.endPointOpened(endPoint);
            onEndPointOpened(endPoint);
        }

        @Override
        protected void endPointClosed(EndPoint endPoint) {
            onEndPointClosed(endPoint);
            super.endPointClosed(endPoint);
        }
    }
}
