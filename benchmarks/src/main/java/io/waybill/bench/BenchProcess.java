package io.waybill.bench;

import io.waybill.bench.measure.Figures;
import java.io.IOException;
import java.util.Arrays;

/**
 * What a child process of a measurement runs: its role is the first argument. It prints {@value #READY} when it serves or has joined, then
 * a line of figures if its role has some, and ends when its standard input does.
 */
public final class BenchProcess {

    static final String READY = "ready";

    private BenchProcess() {}

    /** A role of a process. */
    @FunctionalInterface
    interface Role {
        void run(String[] arguments) throws Exception;
    }

    public static void main(String[] arguments) throws Exception {
        String[] rest = Arrays.copyOfRange(arguments, 1, arguments.length);
        role(arguments[0]).run(rest);
        System.exit(0);
    }

    private static Role role(String name) {
        return switch (name) {
            case RawPeer.ECHO -> RawPeer::echo;
            case RawPeer.PING -> RawPeer::ping;
            case RawPeer.PIPELINE -> RawPeer::pipeline;
            case EchoServer.ROLE -> EchoServer::run;
            case RoundTrip.ROLE -> RoundTrip::client;
            case Throughput.ROLE -> Throughput::client;
            case BenchNode.ROLE -> BenchNode::run;
            case OperatorCall.ROLE -> OperatorCall::client;
            case HandlerTimes.SERVER_ROLE -> HandlerTimes::server;
            case HandlerTimes.ROLE -> HandlerTimes::client;
            case HandlerTimes.SOCKET_SERVER_ROLE -> HandlerTimes::socketServer;
            case HandlerTimes.SOCKET_ROLE -> HandlerTimes::socketClient;
            case Idle.ROLE -> Idle::client;
            case FirstCalls.ROLE -> FirstCalls::client;
            case Idle.RestedPipe.ROLE -> Idle.RestedPipe::echo;
            case SwapUnderLoad.ROLE -> SwapUnderLoad::client;
            case TensorTransfer.SERVER_ROLE -> TensorTransfer::server;
            case TensorTransfer.ROLE -> TensorTransfer::client;
            case TensorTransfer.Stream.SERVER_ROLE -> TensorTransfer.Stream::server;
            case TensorTransfer.Stream.ROLE -> TensorTransfer.Stream::client;
            case QuotaUnderLoad.SERVER_ROLE -> QuotaUnderLoad::server;
            case QuotaUnderLoad.CALLER_ROLE -> QuotaUnderLoad::caller;
            case QuotaUnderLoad.FOLLOWER_ROLE -> QuotaUnderLoad::follower;
            case LookupRate.ROLE -> LookupRate::measure;
            case ReferenceCall.ROLE -> ReferenceCall::client;
            case ReplayRate.ROLE -> ReplayRate::measure;
            case EnvelopeCost.SERVER_ROLE -> EnvelopeCost::server;
            case EnvelopeCost.ROLE -> EnvelopeCost::client;
            case ExtensionCost.SERVER_ROLE -> ExtensionCost::server;
            case ExtensionCost.ROLE -> ExtensionCost::client;
            case ProfilingCost.ROLE -> ProfilingCost::client;
            case HomeSize.ROLE -> HomeSize::callers;
            case Pairs.Member.ROLE -> Pairs.Member::call;
            default -> throw new IllegalArgumentException("no role is named " + name);
        };
    }

    static void report(Figures figures) {
        System.out.println(figures.line());
        System.out.flush();
    }

    static void ready() {
        System.out.println(READY);
        System.out.flush();
    }

    /** Ends this process when its standard input ends, whatever its main thread does: for a role that spins. */
    static void endWithParent() {
        Thread end = new Thread(
                () -> {
                    try {
                        awaitEnd();
                    } catch (IOException e) {
                        // as if it had ended
                    }
                    Runtime.getRuntime().halt(1);
                },
                "waybill-bench-end");
        end.setDaemon(true);
        end.start();
    }

    /** Blocks until standard input ends, which it does with the parent process at the latest. */
    static void awaitEnd() throws IOException {
        while (System.in.read() >= 0) {
            // nothing is said to a child
        }
    }
}
