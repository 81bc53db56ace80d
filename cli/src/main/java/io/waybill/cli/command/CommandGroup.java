package io.waybill.cli.command;

import java.util.Map;

/**
 * Command whose subcommands are created on demand: describing all of them would dominate the start of a short command.
 */
public interface CommandGroup {

    /** Returns the classes of the subcommands by name, in the order of the help. */
    Map<String, Class<?>> subcommands();
}
