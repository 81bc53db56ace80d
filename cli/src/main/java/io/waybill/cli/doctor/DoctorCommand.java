package io.waybill.cli.doctor;

import com.fasterxml.jackson.core.JsonGenerator;
import io.waybill.cli.command.HomeOption;
import io.waybill.cli.command.Surroundings;
import io.waybill.cli.show.Json;
import io.waybill.cli.show.Table;
import io.waybill.host.Host;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/**
 * {@code waybill doctor}: reports what this machine has, what is missing, and how to install it. Starts no node and
 * loads no library of a bundle.
 */
@Command(
        mixinStandardHelpOptions = true,
        name = "doctor",
        header = "Says what this machine has of what Waybill needs, and how to get what is missing.",
        description = {
            "",
            "VERDICT is ok; note: not needed by all; warning: works, but slower or with fewer guarantees; missing: Waybill does not work"
                    + " without it. Exits with 1 if something is missing.",
            ""
        },
        footer = {"", "Examples:", "  waybill doctor", "  waybill doctor --home /data/waybill --json"})
public final class DoctorCommand implements Callable<Integer> {

    private final Surroundings surroundings;
    private final HostFiles files;

    @Mixin
    private HomeOption home;

    @Option(names = "--json", description = "Prints JSON.")
    private boolean json;

    public DoctorCommand(Surroundings surroundings) {
        this.surroundings = surroundings;
        this.files = new HostFiles(Path.of("/"));
    }

    @Override
    public Integer call() {
        Diagnoses findings = new Diagnoses();
        JavaCheck.run(findings, surroundings.java());
        HostCheck.run(findings, files, Runtime.getRuntime().availableProcessors());
        HomeCheck.run(findings, files, home.path(surroundings), Host.real());
        DistributionCheck.run(
                findings,
                surroundings.distribution(),
                surroundings.java(),
                ManagementFactory.getRuntimeMXBean().getInputArguments());
        NvidiaCheck.run(findings, files);
        if (json) {
            Json.print(surroundings.out(), generator -> write(findings, generator));
        } else {
            print(findings);
        }
        return findings.count(Health.MISSING) == 0 ? ExitCode.OK : ExitCode.SOFTWARE;
    }

    private void print(Diagnoses findings) {
        Table table = new Table("VERDICT", "CHECK", "FOUND");
        for (Diagnosis each : findings.all()) {
            String advice = each.advice().isEmpty() ? "" : "; " + each.advice();
            table.row(each.verdict(), each.check(), each.found() + advice);
        }
        table.print(surroundings.out());
        int missing = findings.count(Health.MISSING);
        surroundings
                .out()
                .println((missing == 0 ? "Nothing that Waybill needs is missing" : "Missing: " + missing)
                        + "; warnings: " + findings.count(Health.WARNING) + "; notes: "
                        + findings.count(Health.NOTE));
    }

    private static void write(Diagnoses findings, JsonGenerator generator) throws IOException {
        generator.writeStartObject();
        generator.writeNumberField("missing", findings.count(Health.MISSING));
        generator.writeNumberField("warnings", findings.count(Health.WARNING));
        generator.writeArrayFieldStart("checks");
        for (Diagnosis each : findings.all()) {
            generator.writeStartObject();
            generator.writeStringField("check", each.check());
            generator.writeStringField("verdict", each.verdict().toString());
            generator.writeStringField("found", each.found());
            generator.writeStringField("advice", each.advice());
            generator.writeEndObject();
        }
        generator.writeEndArray();
        generator.writeEndObject();
    }
}
