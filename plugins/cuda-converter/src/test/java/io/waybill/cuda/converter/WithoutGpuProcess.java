package io.waybill.cuda.converter;

import io.waybill.api.CallException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Tensor;
import io.waybill.worker.Waybill;
import io.waybill.worker.Worker;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Map;

/** A process whose driver is missing or finds no GPU. Prints what the converter says, and what calls get. */
final class WithoutGpuProcess {

    private WithoutGpuProcess() {}

    public static void main(String[] arguments) throws IOException {
        Path home = Path.of(arguments[0]);
        CudaConverter converter = new CudaConverter(0, 64);
        System.out.println("reason: " + converter.unavailable().orElse("none"));
        try (Worker server = Waybill.connect(home, "server")
                        .with(converter)
                        .with("gpu.echo", (message, outbox) -> outbox.respond(ByteBuffer.wrap(new byte[] {1})))
                        .join();
                Worker caller = Waybill.connect(home, "caller")
                        .deviceMap("server", Map.of(Device.CPU, Device.parse("cuda:0")))
                        .join()) {
            System.out.println("types: " + server.devices().types().keySet());
            Request request = Request.operation("server", "gpu.echo");
            Tensor tensor = Tensor.contiguous(
                    DType.UINT8, new long[] {10}, caller.buffers().allocate(10));
            request.body().tensor("t", tensor);
            call(caller, request);
            call(caller, Request.operation("server", "gpu.echo"));
        }
        converter.close();
        System.out.println("open: " + converter.figures().equals(CudaFigures.NONE));
    }

    private static void call(Worker caller, Request request) {
        try (Response response = caller.call(request)) {
            System.out.println("response: " + response.payload().get(0));
        } catch (CallException e) {
            System.out.println("error: " + e.code() + " " + e.getMessage());
        }
    }
}
