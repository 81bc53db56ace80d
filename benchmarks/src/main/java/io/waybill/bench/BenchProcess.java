package io.waybill.bench;

import io.waybill.bench.app.OrderClient;
import io.waybill.bench.app.OrderServices;
import io.waybill.bench.call.EchoServer;
import io.waybill.bench.call.FirstCalls;
import io.waybill.bench.call.RawPeer;
import io.waybill.bench.call.SocketCaller;
import io.waybill.bench.call.SocketEcho;
import io.waybill.bench.call.WaybillCaller;
import io.waybill.bench.process.ChildProcess;
import java.util.Arrays;

/**
 * Main class of a measurement's child processes; the first argument is the role. See {@link ChildProcess} for the
 * protocol with the parent.
 */
public final class BenchProcess {

    private BenchProcess() {}

    public static void main(String[] arguments) throws Exception {
        String[] rest = Arrays.copyOfRange(arguments, 1, arguments.length);
        role(arguments[0]).run(rest);
        System.exit(0);
    }

    private static ChildProcess.Role role(String name) {
        return switch (name) {
            case EchoServer.ROLE -> EchoServer::run;
            case EchoServer.PROGRAM_ROLE -> EchoServer::runProgram;
            case WaybillCaller.ROLE -> WaybillCaller::run;
            case RawPeer.SERVER_ROLE -> RawPeer::echo;
            case RawPeer.ROLE -> RawPeer::run;
            case SocketEcho.ROLE -> SocketEcho::run;
            case SocketEcho.SELECTOR_ROLE -> SocketEcho::runSelector;
            case SocketCaller.ROLE -> SocketCaller::run;
            case OrderServices.ORDERS_ROLE -> OrderServices::orders;
            case OrderServices.STOCK_ROLE -> OrderServices::stock;
            case OrderServices.PAYMENTS_ROLE -> OrderServices::payments;
            case OrderServices.ALONE_ROLE -> OrderServices::alone;
            case OrderClient.ROLE -> OrderClient::run;
            case BenchNode.ROLE -> BenchNode::run;
            case OperatorCall.ROLE -> OperatorCall::client;
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
}
