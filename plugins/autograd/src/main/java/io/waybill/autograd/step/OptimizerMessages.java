package io.waybill.autograd.step;

import io.waybill.api.ErrorCode;
import io.waybill.api.Message;
import io.waybill.api.RRef;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.handler.Outbox;
import io.waybill.autograd.optim.OptimizerSettings;
import java.util.ArrayList;
import java.util.List;

/**
 * Operations, with their fields, through which a program uses the optimizers at the owners of its parameters.
 * Stateless.
 *
 * <p>Each has the id of the optimizer in {@code optimizer}. {@link #CREATE} has the algorithm in {@code settings}, a
 * tuple of its name and its numbers in the order of {@link OptimizerSettings}, and references to the parameters in
 * {@code parameters}. {@link #STEP} has the id of a context in {@code context}, and the number of updated parameters is
 * in {@code updated} of each response.
 */
public final class OptimizerMessages {

    /** Operation that creates an optimizer. */
    public static final String CREATE = "autograd.optimizer.create";
    /** Operation that updates its parameters. */
    public static final String STEP = "autograd.optimizer.step";
    /** Operation that closes it. */
    public static final String CLOSE = "autograd.optimizer.close";

    private static final String OPTIMIZER = "optimizer";
    private static final String CONTEXT = "context";
    private static final String UPDATED = "updated";
    private static final String SETTINGS = "settings";
    private static final String PARAMETERS = "parameters";

    private OptimizerMessages() {}

    static Request create(String to, long id, OptimizerSettings settings, List<RRef> parameters) {
        Request request = Request.operation(to, CREATE);
        List<Value> references =
                parameters.stream().<Value>map(each -> Value.of(each)).toList();
        request.body()
                .int64(OPTIMIZER, id)
                .value(SETTINGS, value(settings))
                .value(PARAMETERS, new Value.Items(references));
        return request;
    }

    static Request step(String to, long id, long context) {
        Request request = Request.operation(to, STEP);
        request.body().int64(OPTIMIZER, id).int64(CONTEXT, context);
        return request;
    }

    static Request close(String to, long id) {
        Request request = Request.operation(to, CLOSE);
        request.body().int64(OPTIMIZER, id);
        return request;
    }

    /** Returns the id of a request's optimizer. */
    public static long id(Message request) throws RejectedMessageException {
        return request.int64(OPTIMIZER);
    }

    /** Returns the id of the context of a step. */
    public static long context(Message request) throws RejectedMessageException {
        return request.int64(CONTEXT);
    }

    /** Writes the response to a step. */
    public static void respond(Outbox outbox, int updated) {
        outbox.response().int64(UPDATED, updated);
    }

    static int updated(Response response) {
        return (int) response.int64(UPDATED);
    }

    /**
     * Returns the references to the parameters.
     *
     * @throws RejectedMessageException if there are other values among them, or one is not the receiver's
     */
    public static List<RRef> parameters(Message request) throws RejectedMessageException {
        if (!(request.value(PARAMETERS) instanceof Value.Items items)) {
            throw malformed("has a list of references in " + PARAMETERS);
        }
        List<RRef> references = new ArrayList<>();
        for (Value each : items.values()) {
            if (!(each instanceof Value.OfRRef reference) || !reference.value().isOwner()) {
                throw malformed(
                        "has references to values of its receiver, and that at " + references.size() + " is none");
            }
            references.add(reference.value());
        }
        return references;
    }

    static Value value(OptimizerSettings settings) {
        if (settings instanceof OptimizerSettings.Sgd sgd) {
            return Value.tuple(
                    Value.of("sgd"),
                    Value.of(sgd.lr()),
                    Value.of(sgd.momentum()),
                    Value.of(sgd.dampening()),
                    Value.of(sgd.weightDecay()),
                    Value.of(sgd.nesterov()));
        } else if (settings instanceof OptimizerSettings.Adam adam) {
            return adam("adam", adam.lr(), adam.beta1(), adam.beta2(), adam.eps(), adam.weightDecay(), adam.amsgrad());
        }
        OptimizerSettings.AdamW adamW = (OptimizerSettings.AdamW) settings;
        return adam(
                "adamw", adamW.lr(), adamW.beta1(), adamW.beta2(), adamW.eps(), adamW.weightDecay(), adamW.amsgrad());
    }

    private static Value adam(
            String name, double lr, double beta1, double beta2, double eps, double weightDecay, boolean amsgrad) {
        return Value.tuple(
                Value.of(name),
                Value.of(lr),
                Value.of(beta1),
                Value.of(beta2),
                Value.of(eps),
                Value.of(weightDecay),
                Value.of(amsgrad));
    }

    /** Returns the algorithm of a new optimizer. */
    public static OptimizerSettings settings(Message request) throws RejectedMessageException {
        try {
            List<Value> fields = ((Value.Tuple) request.value(SETTINGS)).values();
            String name = ((Value.Text) fields.get(0)).value();
            boolean isLast = ((Value.Bool) fields.get(fields.size() - 1)).value();
            double[] numbers = new double[fields.size() - 2];
            for (int i = 0; i < numbers.length; i++) {
                numbers[i] = ((Value.Float) fields.get(i + 1)).value();
            }
            return settings(name, numbers, isLast);
        } catch (ClassCastException | IndexOutOfBoundsException | NegativeArraySizeException e) {
            throw malformed("has the name and the numbers of an algorithm in " + SETTINGS);
        } catch (IllegalArgumentException e) {
            throw new RejectedMessageException(ErrorCode.REFUSED, e.getMessage(), e);
        }
    }

    private static OptimizerSettings settings(String name, double[] of, boolean isLast)
            throws RejectedMessageException {
        return switch (name + " " + of.length) {
            case "sgd 4" -> new OptimizerSettings.Sgd(of[0], of[1], of[2], of[3], isLast);
            case "adam 5" -> new OptimizerSettings.Adam(of[0], of[1], of[2], of[3], of[4], isLast);
            case "adamw 5" -> new OptimizerSettings.AdamW(of[0], of[1], of[2], of[3], of[4], isLast);
            default ->
                throw malformed(
                        "has an algorithm that is known, and " + of.length + " numbers are not those of " + name);
        };
    }

    private static RejectedMessageException malformed(String what) {
        return new RejectedMessageException(ErrorCode.MALFORMED_BODY, "a request of an optimizer " + what);
    }
}
