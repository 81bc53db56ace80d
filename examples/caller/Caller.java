import io.waybill.api.*;
import io.waybill.worker.*;

/** Makes a worker count the words of a text. Arguments: the home, the worker, the text. */
public final class Caller {
    public static void main(String[] args) throws Exception {
        Request request = Request.operation(args[1], "text.count");
        request.body().text("text", args[2]);
        try (Worker worker = Waybill.connect(java.nio.file.Path.of(args[0]), "caller").join(); var response = worker.call(request)) {
            System.out.println(response.int64("words"));
        }
    }
}
