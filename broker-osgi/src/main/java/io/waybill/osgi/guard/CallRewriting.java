package io.waybill.osgi.guard;

import java.util.Optional;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.ConstantDynamic;
import org.objectweb.asm.Handle;
import org.objectweb.asm.Label;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

/**
 * Rewrites calls in a class file according to a {@link Rule}, including method references. Reflection is not covered.
 *
 * <p>The frames of the class must not change: the replacement of a call has the same effect on the stack. Interfaces of
 * before Java 8, which have no methods with code, are not changed.
 */
final class CallRewriting {

    private static final int JAVA_8 = 52;

    private CallRewriting() {}

    /** Call or method reference in a class. */
    record Call(int opcode, String owner, String name, String descriptor, boolean ownerIsInterface) {}

    /**
     * Location of a call.
     *
     * @param className with slashes
     * @param source the name of its file; null if unknown
     * @param line 0 if unknown
     */
    record Location(String className, boolean isInterface, String source, String method, int line) {}

    /** Rule that selects the calls to rewrite, and writes their replacements. Created for one class. */
    interface Rule {

        boolean isAbout(Call call);

        /** Writes the replacement of a call. */
        void write(Call call, Location location, MethodVisitor code);

        /** Returns the additional stack slots of the replacement. */
        int extraStack();

        /** Returns the replacement of a method reference: a method with the same parameters and result. */
        Handle refer(Handle method, Location location);

        /** Adds the methods that the rewritten code calls. */
        void addMethods(ClassVisitor type);
    }

    /**
     * Rewrites a class; empty if no call had to be rewritten.
     *
     * @throws IllegalArgumentException or IndexOutOfBoundsException or NegativeArraySizeException if it is no class
     *     file
     */
    static Optional<byte[]> apply(byte[] classFile, Rule rule) {
        ClassReader reader = new ClassReader(classFile);
        ClassWriter writer = new ClassWriter(reader, 0);
        OfClass type = new OfClass(writer, rule);
        reader.accept(type, 0);
        return type.found ? Optional.of(writer.toByteArray()) : Optional.empty();
    }

    private static final class OfClass extends ClassVisitor {

        private final Rule rule;
        private String className;
        private boolean isInterface;
        private boolean mayHaveMethods;
        private String source;
        private boolean found;

        OfClass(ClassVisitor next, Rule rule) {
            super(Opcodes.ASM9, next);
            this.rule = rule;
        }

        @Override
        public void visit(
                int version, int access, String name, String signature, String superName, String[] interfaces) {
            className = name;
            isInterface = (access & Opcodes.ACC_INTERFACE) != 0;
            mayHaveMethods = !isInterface || (version & 0xffff) >= JAVA_8;
            super.visit(version, access, name, signature, superName, interfaces);
        }

        @Override
        public void visitSource(String file, String debug) {
            source = file;
            super.visitSource(file, debug);
        }

        @Override
        public MethodVisitor visitMethod(
                int access, String name, String descriptor, String signature, String[] exceptions) {
            MethodVisitor next = super.visitMethod(access, name, descriptor, signature, exceptions);
            return mayHaveMethods ? new OfMethod(next, this, name) : next;
        }

        @Override
        public void visitEnd() {
            if (found) {
                rule.addMethods(cv);
            }
            super.visitEnd();
        }
    }

    private static final class OfMethod extends MethodVisitor {

        private final OfClass type;
        private final Rule rule;
        private final String method;
        private int line;
        private boolean wrote;

        OfMethod(MethodVisitor next, OfClass type, String method) {
            super(Opcodes.ASM9, next);
            this.type = type;
            this.rule = type.rule;
            this.method = method;
        }

        private Location location() {
            return new Location(type.className, type.isInterface, type.source, method, line);
        }

        @Override
        public void visitLineNumber(int number, Label start) {
            line = number;
            super.visitLineNumber(number, start);
        }

        @Override
        public void visitMethodInsn(
                int opcode, String owner, String name, String descriptor, boolean ownerIsInterface) {
            Call call = new Call(opcode, owner, name, descriptor, ownerIsInterface);
            if (rule.isAbout(call)) {
                type.found = true;
                wrote = true;
                rule.write(call, location(), mv);
            } else {
                super.visitMethodInsn(opcode, owner, name, descriptor, ownerIsInterface);
            }
        }

        @Override
        public void visitInvokeDynamicInsn(
                String name, String descriptor, Handle bootstrap, Object... bootstrapArguments) {
            Object[] arguments = new Object[bootstrapArguments.length];
            for (int i = 0; i < arguments.length; i++) {
                arguments[i] = rewritten(bootstrapArguments[i]);
            }
            super.visitInvokeDynamicInsn(name, descriptor, bootstrap, arguments);
        }

        @Override
        public void visitLdcInsn(Object value) {
            super.visitLdcInsn(rewritten(value));
        }

        @Override
        public void visitMaxs(int maxStack, int maxLocals) {
            super.visitMaxs(wrote ? maxStack + rule.extraStack() : maxStack, maxLocals);
        }

        private Object rewritten(Object constant) {
            if (constant instanceof Handle handle && rule.isAbout(call(handle))) {
                type.found = true;
                return rule.refer(handle, location());
            }
            if (constant instanceof ConstantDynamic dynamic) {
                Object[] arguments = new Object[dynamic.getBootstrapMethodArgumentCount()];
                for (int i = 0; i < arguments.length; i++) {
                    arguments[i] = rewritten(dynamic.getBootstrapMethodArgument(i));
                }
                return new ConstantDynamic(
                        dynamic.getName(), dynamic.getDescriptor(), dynamic.getBootstrapMethod(), arguments);
            }
            return constant;
        }

        private static Call call(Handle handle) {
            int opcode = switch (handle.getTag()) {
                case Opcodes.H_INVOKESTATIC -> Opcodes.INVOKESTATIC;
                case Opcodes.H_INVOKEVIRTUAL -> Opcodes.INVOKEVIRTUAL;
                case Opcodes.H_INVOKEINTERFACE -> Opcodes.INVOKEINTERFACE;
                default -> Opcodes.INVOKESPECIAL;
            };
            return new Call(opcode, handle.getOwner(), handle.getName(), handle.getDesc(), handle.isInterface());
        }
    }
}
