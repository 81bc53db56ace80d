package io.waybill.cli;

import io.waybill.api.admin.Canary;
import io.waybill.cli.command.UsageException;
import java.util.List;
import java.util.Optional;

/** Values of {@code --canary}: {@code 5%}, {@code worker=PATTERN}, {@code operation=PATTERN}. Stateless. */
final class CanaryOption {

    private static final String WORKER = "worker=";
    private static final String OPERATION = "operation=";

    private CanaryOption() {}

    /** Returns the trial that several values describe together. */
    static Canary parse(List<String> values, Optional<String> rollbackIf) throws UsageException {
        Optional<Double> percent = Optional.empty();
        Optional<String> worker = Optional.empty();
        Optional<String> operation = Optional.empty();
        for (String value : values) {
            if (value.startsWith(WORKER) && worker.isEmpty()) {
                worker = Optional.of(value.substring(WORKER.length()));
            } else if (value.startsWith(OPERATION) && operation.isEmpty()) {
                operation = Optional.of(value.substring(OPERATION.length()));
            } else if (value.endsWith("%") && percent.isEmpty()) {
                percent = Optional.of(percent(value));
            } else {
                throw wrong(value);
            }
        }
        return new Canary(percent.orElse(Canary.ALL_PERCENT), worker, operation, rollbackIf);
    }

    private static double percent(String value) throws UsageException {
        try {
            return Double.parseDouble(value.substring(0, value.length() - 1));
        } catch (NumberFormatException e) {
            throw wrong(value);
        }
    }

    private static UsageException wrong(String value) {
        return new UsageException(
                "--canary: expected once each 5%, worker=PATTERN or operation=PATTERN, found " + value);
    }
}
