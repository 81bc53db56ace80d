package io.waybill.api.admin;

/**
 * A setting whose value in the files of a node has changed. Immutable.
 *
 * @param from the running node's value; empty if it had none
 * @param to value in the files; empty if it no longer has one
 * @param applied whether the node has the new value now; otherwise from its next start on
 */
public record SettingChange(String setting, String from, String to, boolean applied) {}
