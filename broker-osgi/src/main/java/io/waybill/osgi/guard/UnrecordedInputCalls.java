package io.waybill.osgi.guard;

import io.waybill.osgi.guard.CallRewriting.Call;
import io.waybill.osgi.guard.CallRewriting.Location;
import io.waybill.osgi.watch.HandlerWatch;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.Handle;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;

/**
 * Rewrites the calls in a class that read the time or draw random numbers ({@link UnrecordedSource}), so that they
 * notify the {@link HandlerWatch} first. A reference to such a method is replaced by one to a method that is added to
 * the class.
 */
final class UnrecordedInputCalls implements CallRewriting.Rule {

    private static final String WATCH = Type.getInternalName(HandlerWatch.class);
    private static final String NOTE = "note";
    private static final String NOTE_DESCRIPTOR = "(Ljava/lang/String;Ljava/lang/String;)V";
    private static final String ADDED = "waybill$noted$";

    /** An added method that replaces the target of a reference. */
    private record StandIn(Handle method, Location location, String name) {

        boolean isConstructor() {
            return method.getTag() == Opcodes.H_NEWINVOKESPECIAL;
        }

        /** Returns the descriptor, with the receiver as first argument for an instance method. */
        String descriptor() {
            Type owner = Type.getObjectType(method.getOwner());
            Type of = Type.getMethodType(method.getDesc());
            if (isConstructor()) {
                return Type.getMethodDescriptor(owner, of.getArgumentTypes());
            }
            if (method.getTag() == Opcodes.H_INVOKESTATIC) {
                return method.getDesc();
            }
            return "(" + owner.getDescriptor() + method.getDesc().substring(1);
        }
    }

    private final List<StandIn> standIns = new ArrayList<>();

    private UnrecordedInputCalls() {}

    /** Rewrites a class so that its unrecorded inputs are reported; empty if it has none. */
    static Optional<byte[]> note(byte[] classFile) {
        return CallRewriting.apply(classFile, new UnrecordedInputCalls());
    }

    @Override
    public boolean isAbout(Call call) {
        return UnrecordedSource.isCalled(call);
    }

    @Override
    public void write(Call call, Location location, MethodVisitor code) {
        report(call.owner(), call.name(), location, code);
        code.visitMethodInsn(call.opcode(), call.owner(), call.name(), call.descriptor(), call.ownerIsInterface());
    }

    private static void report(String owner, String name, Location location, MethodVisitor code) {
        code.visitLdcInsn(UnrecordedSource.text(owner, name));
        code.visitLdcInsn(text(location));
        code.visitMethodInsn(Opcodes.INVOKESTATIC, WATCH, NOTE, NOTE_DESCRIPTOR, false);
    }

    /** Formats a location as in a stack trace, with the method of a lambda. */
    private static String text(Location location) {
        String[] parts = location.method().split("\\$");
        String method = parts.length > 2 && parts[0].equals("lambda") ? parts[1] : location.method();
        String file = location.source() == null ? "Unknown Source" : location.source();
        return location.className().replace('/', '.') + "." + method + "(" + file
                + (location.line() > 0 ? ":" + location.line() : "") + ")";
    }

    @Override
    public int extraStack() {
        return 2;
    }

    @Override
    public Handle refer(Handle method, Location location) {
        StandIn standIn = new StandIn(method, location, ADDED + standIns.size());
        standIns.add(standIn);
        return new Handle(
                Opcodes.H_INVOKESTATIC,
                location.className(),
                standIn.name(),
                standIn.descriptor(),
                location.isInterface());
    }

    @Override
    public void addMethods(ClassVisitor type) {
        standIns.forEach(standIn -> add(type, standIn));
    }

    private static void add(ClassVisitor type, StandIn standIn) {
        Handle target = standIn.method();
        Type descriptor = Type.getMethodType(standIn.descriptor());
        int access = Opcodes.ACC_PRIVATE | Opcodes.ACC_STATIC | Opcodes.ACC_SYNTHETIC;
        MethodVisitor code = type.visitMethod(access, standIn.name(), standIn.descriptor(), null, null);
        code.visitCode();
        report(target.getOwner(), target.getName(), standIn.location(), code);
        int stack = 2;
        if (standIn.isConstructor()) {
            code.visitTypeInsn(Opcodes.NEW, target.getOwner());
            code.visitInsn(Opcodes.DUP);
        }
        int locals = 0;
        for (Type argument : descriptor.getArgumentTypes()) {
            code.visitVarInsn(argument.getOpcode(Opcodes.ILOAD), locals);
            locals += argument.getSize();
        }
        code.visitMethodInsn(
                opcode(target), target.getOwner(), target.getName(), target.getDesc(), target.isInterface());
        code.visitInsn(descriptor.getReturnType().getOpcode(Opcodes.IRETURN));
        code.visitMaxs(stack + locals, locals);
        code.visitEnd();
    }

    private static int opcode(Handle target) {
        return switch (target.getTag()) {
            case Opcodes.H_INVOKESTATIC -> Opcodes.INVOKESTATIC;
            case Opcodes.H_INVOKEINTERFACE -> Opcodes.INVOKEINTERFACE;
            case Opcodes.H_INVOKEVIRTUAL -> Opcodes.INVOKEVIRTUAL;
            default -> Opcodes.INVOKESPECIAL;
        };
    }
}
