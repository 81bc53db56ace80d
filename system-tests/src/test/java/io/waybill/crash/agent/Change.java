package io.waybill.crash.agent;

/**
 * What is changed in one method. Immutable. Classes are named as in class files, those of Waybill without their package: no simple
 * name is used twice there, and a class that moves to another package keeps its changes.
 *
 * @param owner the class
 * @param method its name; all that have it are changed
 * @param where relative to the method or to the call
 * @param calledOwner the class of the call that is meant; empty without
 * @param called its method; empty without
 * @param instead the static method of {@link Mutations} that takes its place; empty for {@link Suicide#passed} beside it
 */
record Change(String owner, String method, Where where, String calledOwner, String called, String instead) {

    /** Where something is put. */
    enum Where {
        ENTRY,
        EXIT,
        BEFORE_CALL,
        AFTER_CALL,
        INSTEAD_OF_CALL
    }

    static Change entry(String owner, String method) {
        return new Change(owner, method, Where.ENTRY, "", "", "");
    }

    static Change exit(String owner, String method) {
        return new Change(owner, method, Where.EXIT, "", "", "");
    }

    static Change before(String owner, String method, String calledOwner, String called) {
        return new Change(owner, method, Where.BEFORE_CALL, calledOwner, called, "");
    }

    static Change after(String owner, String method, String calledOwner, String called) {
        return new Change(owner, method, Where.AFTER_CALL, calledOwner, called, "");
    }

    static Change instead(String owner, String method, String calledOwner, String called, String instead) {
        return new Change(owner, method, Where.INSTEAD_OF_CALL, calledOwner, called, instead);
    }

    boolean isIn(String className) {
        return names(owner, className);
    }

    boolean isAt(String callOwner, String callName) {
        return names(calledOwner, callOwner) && callName.equals(called);
    }

    private static boolean names(String named, String found) {
        return named.equals(found) || found.startsWith("io/waybill/") && found.endsWith("/" + named);
    }
}
