package io.waybill.bench.call;

import io.waybill.bench.measure.CacheLine;
import io.waybill.bench.measure.Figures;
import io.waybill.bench.process.Children;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Consumer;

/**
 * Waybill, or a system for comparison. Each is a server and clients, which are processes of their own, and all make the
 * same calls: with as many bytes, the same work of the called side, for as long.
 *
 * <p>Arguments of a server: directory, load, how Waybill waits. Of a client: these, the process of the server, and its
 * own number from 0.
 */
public enum MeasuredSystem {
    /** Two programs that have joined a home. */
    WAYBILL("", EchoServer.PROGRAM_ROLE, WaybillCaller.ROLE),
    /** The raw limit: two Chronicle queues. */
    RAW("raw_", RawPeer.SERVER_ROLE, RawPeer.ROLE),
    /** A Unix-domain socket, whose both sides block in reads. */
    SOCKET("socket_", SocketEcho.ROLE, SocketCaller.ROLE),
    /** Unix-domain sockets of one server that waits for all of them with epoll. */
    EPOLL("epoll_", SocketEcho.SELECTOR_ROLE, SocketCaller.ROLE);

    private static final String LINE = "line_ns";

    private final String prefix;
    private final String serverRole;
    private final String clientRole;

    MeasuredSystem(String prefix, String serverRole, String clientRole) {
        this.prefix = prefix;
        this.serverRole = serverRole;
        this.clientRole = clientRole;
    }

    /** Returns the prefix of the names of its figures. */
    String prefix() {
        return prefix;
    }

    /** The figures of one turn of one system. */
    @FunctionalInterface
    interface Turn {
        Figures measure(MeasuredSystem system) throws IOException;
    }

    /** Measures systems in turns, with another first one in each round; returns the figures of the rounds. */
    static Map<MeasuredSystem, List<Figures>> byTurns(
            List<MeasuredSystem> systems, int rounds, Consumer<String> progress, Turn turn) throws IOException {
        Map<MeasuredSystem, List<Figures>> all = new EnumMap<>(MeasuredSystem.class);
        for (int round = 0; round < rounds; round++) {
            for (int i = 0; i < systems.size(); i++) {
                MeasuredSystem system = systems.get((round + i) % systems.size());
                progress.accept("round " + (round + 1) + " of " + rounds + ": "
                        + system.name().toLowerCase(Locale.ROOT));
                all.computeIfAbsent(system, any -> new ArrayList<>()).add(turn.measure(system));
            }
        }
        return all;
    }

    /** Measures one client, with fresh processes. */
    Figures round(CallLoad load, String waiting) throws IOException {
        return round(load, waiting, 1).get(0).put(LINE, CacheLine.roundTripNs());
    }

    /** Measures several clients that begin together, with fresh processes. */
    List<Figures> round(CallLoad load, String waiting, int clients) throws IOException {
        try (Children children = Children.ofProgram()) {
            Path directory = children.directory();
            Children.Child server = children.start(serverRole, directory, load.argument(), waiting);
            List<Children.Child> callers = new ArrayList<>();
            for (int i = 0; i < clients; i++) {
                callers.add(children.start(clientRole, directory, load.argument(), waiting, server.pid(), i));
            }
            for (Children.Child caller : callers) {
                caller.begin();
            }
            List<Figures> figures = new ArrayList<>();
            for (Children.Child caller : callers) {
                figures.add(caller.figures());
            }
            return figures;
        }
    }
}
