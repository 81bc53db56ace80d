package io.waybill.cli.command;

import java.util.Map;

/** A command whose subcommands are made when they are needed: describing all of them is most of what a short command takes to start. */
public interface CommandGroup {

    /** Returns the classes of the subcommands by name, in the order of the help. */
    Map<String, Class<?>> subcommands();
}
