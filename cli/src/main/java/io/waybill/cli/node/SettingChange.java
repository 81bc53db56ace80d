package io.waybill.cli.node;

/**
 * A setting whose value in the files is another one than that of the running node. Immutable.
 *
 * @param from the running node's value; empty when it had none
 * @param to empty when it has none any more
 * @param isApplied false when the node takes it over at its next start
 */
public record SettingChange(String setting, String from, String to, boolean isApplied) {}
