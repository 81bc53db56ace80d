package io.waybill.cli.command;

import io.waybill.api.CallException;
import io.waybill.cli.show.Printable;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import picocli.CommandLine;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.IExecutionExceptionHandler;
import picocli.CommandLine.IParameterExceptionHandler;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParseResult;
import picocli.CommandLine.UnmatchedArgumentException;

/**
 * Converts errors to one line on standard error and an exit code: {@value #FAILED} if a command failed, {@value #USAGE}
 * if its options or arguments were wrong. A traceback of another language follows the line. Stateless.
 */
public final class ErrorLines implements IParameterExceptionHandler, IExecutionExceptionHandler {

    /** Exit code of a command that failed. */
    public static final int FAILED = ExitCode.SOFTWARE;
    /** Exit code of a command with wrong options or arguments. */
    public static final int USAGE = ExitCode.USAGE;

    @Override
    public int handleParseException(ParameterException e, String[] args) {
        CommandLine command = e.getCommandLine();
        StringBuilder line = new StringBuilder(e.getMessage());
        if (e instanceof UnmatchedArgumentException unmatched) {
            unmatched.getSuggestions().stream()
                    .findFirst()
                    .ifPresent(
                            near -> line.append("; did you mean ").append(near).append('?'));
        }
        if (e instanceof UnmatchedArgumentException && command.getParent() == null) {
            line.append("; a command of a bundle needs --node NAME");
        }
        return usage(command, line.toString());
    }

    @Override
    public int handleExecutionException(Exception e, CommandLine command, ParseResult parsed) {
        if (e instanceof UsageException) {
            return usage(command, e.getMessage());
        }
        if (e instanceof StandardOutput.EndedException) {
            return StandardOutput.exitCode(command.getOut());
        }
        print(command, text(e));
        if (!(e instanceof CommandFailedException failed)) {
            return FAILED;
        }
        failed.detail().lines().forEach(line -> command.getErr().println(Printable.of(line)));
        command.getErr().flush();
        return failed.exitCode();
    }

    private static int usage(CommandLine command, String line) {
        String name = command.getCommandSpec().qualifiedName();
        print(command, line + "; see " + name + " --help");
        return USAGE;
    }

    /** Prints the line of a command that chooses its exit code itself. */
    public static void print(CommandLine command, String line) {
        String name = command.getCommandSpec().qualifiedName();
        command.getErr().println(name + ": " + Printable.oneLine(line));
        command.getErr().flush();
    }

    private static String text(Exception e) {
        if (e instanceof CommandFailedException) {
            return e.getMessage();
        } else if (e instanceof CallException call) {
            return CallErrorText.of(call, call.getMessage());
        } else if (e instanceof NoSuchFileException) {
            return "no file or directory " + e.getMessage();
        } else if (e instanceof AccessDeniedException) {
            return "no permission for " + e.getMessage();
        } else if (e instanceof FileSystemException || e.getMessage() == null) {
            return e.toString();
        } else if (e instanceof IOException
                || e instanceof IllegalStateException
                || e instanceof IllegalArgumentException) {
            return e.getMessage();
        }
        return "this should not have happened: " + e;
    }
}
