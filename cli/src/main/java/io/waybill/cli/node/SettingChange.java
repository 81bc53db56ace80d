package io.waybill.cli.node;

/**
 * Setting whose value in the files differs from the running node's. Immutable.
 *
 * @param from the running node's value; empty if it had none
 * @param to empty if it no longer has one
 * @param isApplied false if the node applies it at its next start
 */
public record SettingChange(String setting, String from, String to, boolean isApplied) {}
